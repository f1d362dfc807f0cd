// Shared routes by kubectl: shared with spaces where the person may change routes, some at a time, and only while the feature flag is on; led to apps of
// spaces where the person may read apps.
import { beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../eventually.ts";
import type { Answer, Json } from "../kubernetes/api.ts";
import { binding } from "./roles.ts";
import { base, dryRun, giveRole, makeOrgAndSpace, to, type GetTestEnv, type TestUser } from "./test-env.ts";

const RBAC = "rbac.authorization.k8s.io";

export function routeSharingTests(get: GetTestEnv): void {
  describe("sharing of routes", () => {
    let path: string;
    let one: string;
    let two: string;
    beforeAll(async () => {
      const testEnv = get();
      const home = await makeOrgAndSpace(testEnv, "sharing");
      const relationships = { organization: to(home.org) };
      one = home.space;
      two = (await testEnv.make("/v3/spaces", { name: "two", relationships })).guid;
      await testEnv.make("/v3/spaces", { name: "three", relationships });
      await giveRole(testEnv, { role: "space_developer", user: "space_developer", scope: { space: to(two) } });
      path = `${base}/namespaces/${home.spaceNamespace}/routes/shared`;
      await testEnv.kubernetes.post(`${base}/namespaces/${home.spaceNamespace}/routes`, {
        apiVersion: "cupola.dev/v1alpha1",
        kind: "Route",
        metadata: { name: "shared" },
        spec: { host: "sharing", domainRef: { name: "apps" } },
      });
      // Changes routes everywhere, and is no admin.
      const rules = [{ apiGroups: ["cupola.dev"], resources: ["routes"], verbs: ["get", "update", "patch"] }];
      const cluster = { apiVersion: `${RBAC}/v1`, metadata: { name: "routes-everywhere" } };
      await testEnv.kubernetes.post(`/apis/${RBAC}/v1/clusterroles`, { ...cluster, kind: "ClusterRole", rules });
      await testEnv.kubernetes.post(`/apis/${RBAC}/v1/clusterrolebindings`, {
        ...binding("routes-everywhere", "routes-everywhere", ["partial"]),
        kind: "ClusterRoleBinding",
      });
      await testEnv.make("/v3/feature_flags/route_sharing", { enabled: true }, "PATCH");
      await eventually(async () => expect((await share("space_developer", ["sharing-two"])).status).toBe(200));
      await eventually(async () => expect((await share("partial", ["x0"])).status).toBe(200));
    }, 120_000);

    const share = (person: TestUser, sharedSpaces: string[]): Promise<Answer> =>
      dryRun(get().at(person), path, { spec: { sharedSpaces } });
    const many = (count: number): string[] => Array.from({ length: count }, (_none, at) => `x${at}`);

    test.each<[TestUser, string[], number, RegExp?]>([
      ["space_developer", ["sharing-two"], 200],
      ["space_developer", ["sharing-three"], 403, /needs the right to update routes there/],
      ["space_developer", ["sharing-two", "sharing-three"], 403, /needs the right to update routes there/],
      ["space_supporter", ["sharing-two"], 403, /needs the right to update routes there/],
      ["space_auditor", ["sharing-two"], 403],
      ["admin", ["sharing-three", ...many(9)], 200],
      ["partial", many(8), 200],
      ["partial", many(9), 403, /at most 8 more spaces at a time/],
    ])("%s with %j: %i", async (person, spaces, status, message = /./) => {
      const answer = await share(person, spaces);
      expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(message)]);
    });

    describe("destinations in another space", () => {
      const green = { app: "green", namespace: "sharing-two" };
      let led: string;
      beforeAll(async () => {
        const testEnv = get();
        const domains = await testEnv.cf("admin", "GET", "/v3/domains?names=apps.example");
        const domain = domains.json.resources[0].guid;
        const app = await testEnv.make("/v3/apps", { name: "green", relationships: { space: to(two) } });
        const route = await testEnv.make("/v3/routes", {
          host: "led",
          relationships: { space: to(one), domain: to(domain) },
        });
        const routes = `${base}/namespaces/sharing-one/routes`;
        const { items } = (await testEnv.kubernetes.get(routes)).body;
        led = `${routes}/${items.find((item: Json) => item.spec.host === "led").metadata.name}`;
        const relationship = `/v3/routes/${route.guid}/relationships/shared_spaces`;
        const shared = await testEnv.cf("space_developer", "POST", relationship, { data: [{ guid: two }] });
        expect([shared.status, shared.json.errors]).toEqual([200, undefined]);
        const mapped = await testEnv.cf("space_developer", "POST", `/v3/routes/${route.guid}/destinations`, {
          destinations: [{ app: { guid: app.guid } }],
        });
        expect([mapped.status, mapped.json.errors]).toEqual([200, undefined]);
      }, 120_000);

      // The supporter has no role in the other space.
      test.each<[string, TestUser, object, number]>([
        ["another port", "space_supporter", { destinations: [{ ...green, port: 9999 }] }, 403],
        ["another process", "space_supporter", { destinations: [green, { ...green, process: "worker" }] }, 403],
        ["another app", "space_supporter", { destinations: [{ ...green, app: "secret" }] }, 403],
        ["another port", "space_developer", { destinations: [{ ...green, port: 9999 }] }, 200],
        [
          "a space without a role",
          "space_developer",
          { destinations: [{ ...green, namespace: "sharing-three" }] },
          403,
        ],
        ["a space without a role", "admin", { destinations: [{ ...green, namespace: "sharing-three" }] }, 200],
        ["many spaces", "admin", { destinations: many(9).map((namespace) => ({ app: "a", namespace })) }, 200],
        ["an option", "space_supporter", { options: { loadbalancing: "least-connection" } }, 200],
        ["another protocol", "space_supporter", { destinations: [{ ...green, protocol: "http2" }] }, 200],
        ["an own app beside it", "space_supporter", { destinations: [green, { app: "own" }] }, 200],
        ["no destinations", "space_supporter", { destinations: [] }, 200],
      ])("%s, by %s: %#", async (_title, person, spec, status) => {
        const answer = await dryRun(get().at(person), led, { spec });
        const message = status === 403 ? /needs the right to read apps there/ : /./;
        expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(message)]);
      });
    });

    test("nobody shares while the flag is off", async () => {
      await get().make("/v3/feature_flags/route_sharing", { enabled: false }, "PATCH");
      await eventually(async () => {
        const answer = await share("admin", ["sharing-two"]);
        expect([answer.status, answer.body.message]).toEqual([403, expect.stringMatching("route_sharing")]);
      });
    });
  });
}
