// Sharing a route by kubectl: with spaces where the person may change routes, some at a time, and only while the feature flag is on.
import { beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../eventually.ts";
import type { Answer } from "../kubernetes/api.ts";
import { binding } from "./roles.ts";
import { base, dryRun, giveRole, makeOrgAndSpace, to, type GetTestEnv, type TestUser } from "./test-env.ts";

const RBAC = "rbac.authorization.k8s.io";

export function routeSharingTests(get: GetTestEnv): void {
  describe("sharing of routes", () => {
    let path: string;
    beforeAll(async () => {
      const testEnv = get();
      const home = await makeOrgAndSpace(testEnv, "sharing");
      const relationships = { organization: to(home.org) };
      const two = await testEnv.make("/v3/spaces", { name: "two", relationships });
      await testEnv.make("/v3/spaces", { name: "three", relationships });
      await giveRole(testEnv, { role: "space_developer", user: "space_developer", scope: { space: to(two.guid) } });
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

    test("nobody shares while the flag is off", async () => {
      await get().make("/v3/feature_flags/route_sharing", { enabled: false }, "PATCH");
      await eventually(async () => {
        const answer = await share("admin", ["sharing-two"]);
        expect([answer.status, answer.body.message]).toEqual([403, expect.stringMatching("route_sharing")]);
      });
    });
  });
}
