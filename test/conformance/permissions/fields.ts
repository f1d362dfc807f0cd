// A table: which role may write which field, by the CF API and by kubectl. Both doors must say what the table says.
import { beforeAll, describe, expect, test } from "vitest";
import { base, dryRun, makeOrgAndSpace, TEST_USERS, to, type TestUser, type GetTestEnv } from "./test-env.ts";
import { eventually } from "../../eventually.ts";
import { FIELD_ROWS, type FieldFixtures, type FieldRow } from "./field-rows.ts";
import type { Answer, Json } from "../kubernetes/api.ts";

export function fieldTests(get: GetTestEnv): void {
  describe("fields", () => {
    let things: FieldFixtures;
    let turn = 0;

    beforeAll(async () => {
      things = await createFixtures(get);
    }, 120_000);

    const pathOf: Record<FieldRow["kind"], () => string> = {
      App: () => `${base}/namespaces/${things.spaceNamespace}/apps/${things.appName}`,
      Process: () => `${base}/namespaces/${things.spaceNamespace}/processes/${things.appName}.web`,
      Route: () => `${base}/namespaces/${things.spaceNamespace}/routes/${things.routeName}`,
      Space: () => `${base}/namespaces/${things.orgNamespace}/spaces/one`,
      Org: () => `${base}/orgs/${things.orgNamespace}`,
    };

    test.each(FIELD_ROWS.map((row) => [`${row.kind} ${row.field}`, row] as const))("%s", async (_name, row) => {
      const verdicts: Record<string, unknown> = {};
      const expected: Record<string, unknown> = {};
      for (const person of TEST_USERS) {
        turn++;
        const verdict = {
          kubectl: await byKubectl(person, row),
          ...(row.cf && { cf: await byCf(person, row.cf(turn, things)) }),
        };
        verdicts[person] = verdict;
        const word = row.allowed.includes(person) ? "yes" : "no";
        expected[person] = { kubectl: word, ...(row.cf && { cf: word }) };
        if (row.field === "suspended") await lift(row.kind, things);
      }
      expect(verdicts).toEqual(expected);
    });

    async function byKubectl(person: TestUser, row: FieldRow): Promise<string> {
      const { status, text } = await dryRun(
        get().at(person),
        `${pathOf[row.kind]()}${row.subresource ? `/${row.subresource}` : ""}`,
        row.patch(turn, things),
      );
      return status < 300 ? "yes" : [403, 422].includes(status) ? "no" : text;
    }

    /** The CF API has no dry run: what passes changes the object. */
    async function byCf(person: TestUser, [method, path, body]: [string, string, unknown?]): Promise<string> {
      const { status, json } = await get().cf(person, method, path, body);
      return status < 300 ? "yes" : [403, 404].includes(status) ? "no" : JSON.stringify(json);
    }

    test("an apply without labels passes and keeps the GUID", async () => {
      const path = pathOf.App();
      const before = (await get().kubernetes.get(path)).body.metadata;
      const { status, body } = await get()
        .at("space_developer")
        .patch("apply", `${path}?dryRun=All&fieldManager=kubectl`, {
          apiVersion: "cupola.dev/v1alpha1",
          kind: "App",
          metadata: { name: before.name, annotations: { applied: "yes" } },
          spec: {},
        });
      expect([status, body.metadata.labels]).toEqual([200, before.labels]);
    });

    test("at creation every value given counts, but the default", async () => {
      const testEnv = get();
      const group = "rbac.authorization.k8s.io";
      const rules = [
        { apiGroups: ["cupola.dev"], resources: ["apps", "processes", "packages", "orgs"], verbs: ["create"] },
      ];
      await testEnv.kubernetes.post(`/apis/${group}/v1/clusterroles`, {
        apiVersion: `${group}/v1`,
        kind: "ClusterRole",
        metadata: { name: "creates-only" },
        rules,
      });
      await testEnv.kubernetes.post(`/apis/${group}/v1/clusterrolebindings`, {
        apiVersion: `${group}/v1`,
        kind: "ClusterRoleBinding",
        metadata: { name: "creates-only" },
        roleRef: { apiGroup: group, kind: "ClusterRole", name: "creates-only" },
        subjects: [{ kind: "User", apiGroup: group, name: "creator" }],
      });
      const creator = testEnv.kubernetes.as({ impersonate: "creator", groups: ["system:authenticated"] });
      const create = (kind: string, fields: Json): Promise<Answer> => {
        const path =
          kind === "Org"
            ? `${base}/orgs`
            : `${base}/namespaces/${things.spaceNamespace}/${kind === "Process" ? "processes" : `${kind.toLowerCase()}s`}`;
        return creator.post(`${path}?dryRun=All`, {
          apiVersion: "cupola.dev/v1alpha1",
          kind,
          metadata: { name: kind === "Process" ? "new.worker" : "new" },
          spec: fields,
        });
      };
      await eventually(async () => expect((await create("App", {})).status).toBe(201));
      const process = { appRef: { name: "new" }, type: "worker" };
      const pack = { appRef: { name: "new" }, type: "bits" };
      const passes: [string, Json][] = [
        ["App", { state: "Stopped", env: [], lifecycle: { type: "buildpack" }, features: { ssh: true } }],
        ["Process", { ...process, command: "run", memoryMB: 1024 }],
        ["Package", pack],
        ["Org", { suspended: false }],
      ];
      for (const [kind, fields] of passes) expect([kind, (await create(kind, fields)).status]).toEqual([kind, 201]);
      const refused: [string, Json][] = [
        ["App", { env: [{ name: "A", value: "1" }] }],
        ["App", { state: "Started" }],
        ["App", { droplet: { name: "x" } }],
        ["App", { lifecycle: { type: "cnb" } }],
        ["App", { lifecycle: { stack: "x" } }],
        ["App", { name: "Other" }],
        ["App", { features: { ssh: false } }],
        ["Process", { ...process, memoryMB: 1025 }],
        ["Process", { ...process, instances: 1 }],
        ["Process", { ...process, runner: "x" }],
        ["Package", { ...pack, content: { digest: `sha256:${"0".repeat(64)}`, size: 1 } }],
        ["Org", { suspended: true }],
        ["Org", { quotaRef: { name: "x" } }],
      ];
      for (const [kind, fields] of refused)
        expect([kind, fields, (await create(kind, fields)).body.message]).toEqual([
          kind,
          fields,
          expect.stringContaining("needs the right to update"),
        ]);
    });

    async function lift(
      kind: FieldRow["kind"],
      { org, space, orgNamespace, spaceNamespace }: FieldFixtures,
    ): Promise<void> {
      const path = kind === "Org" ? `/v3/organizations/${org}` : `/v3/spaces/${space}`;
      await get().make(path, { suspended: false }, "PATCH");
      const namespace = kind === "Org" ? orgNamespace : spaceNamespace;
      await eventually(async () =>
        expect((await get().kubernetes.get(`/api/v1/namespaces/${namespace}`)).body.metadata.labels).not.toHaveProperty(
          ["cupola.dev/suspended"],
        ),
      );
    }
  });
}

async function createFixtures(get: GetTestEnv): Promise<FieldFixtures> {
  const testEnv = get();
  const home = await makeOrgAndSpace(testEnv, "fields");
  const app = (await testEnv.make("/v3/apps", { name: "shop", relationships: { space: to(home.space) } })).guid;
  const domain = (await testEnv.cf("admin", "GET", "/v3/domains?names=apps.example")).json.resources[0].guid;
  const route = (
    await testEnv.make("/v3/routes", { host: "shop", relationships: { space: to(home.space), domain: to(domain) } })
  ).guid;
  await testEnv.kubernetes.post(`${base}/namespaces/cupola-system/orgquotas`, {
    apiVersion: "cupola.dev/v1alpha1",
    kind: "OrgQuota",
    metadata: { name: "small" },
    spec: { name: "small", totalRoutes: 1 },
  });
  const quotas = await eventually(async () => {
    const { resources } = (await testEnv.cf("admin", "GET", "/v3/organization_quotas")).json;
    expect(resources).toHaveLength(2);
    return resources.map((one: { guid: string }) => one.guid);
  });
  const inSpace = `${base}/namespaces/${home.spaceNamespace}`;
  const [found] = (await testEnv.kubernetes.get(`${inSpace}/apps`)).body.items;
  const [routeObject] = (await testEnv.kubernetes.get(`${inSpace}/routes`)).body.items;
  const droplets = await Promise.all(
    ["a", "b"].map(async (name): Promise<[string, string]> => {
      const made = await testEnv.kubernetes.post(`${inSpace}/droplets`, {
        apiVersion: "cupola.dev/v1alpha1",
        kind: "Droplet",
        metadata: { name },
        spec: {
          appRef: { name: found.metadata.name },
          kind: "docker",
          lifecycleType: "docker",
          image: `example.com/${name}`,
        },
      });
      expect([made.status, made.text]).toEqual([201, made.text]);
      return [made.body.metadata.uid, name];
    }),
  );
  await eventually(async () =>
    expect((await testEnv.cf("admin", "GET", `/v3/droplets/${droplets[1]?.[0]}`)).status).toBe(200),
  );
  await testEnv.make(`/v3/apps/${app}/relationships/current_droplet`, to(droplets[0]?.[0] ?? ""), "PATCH");
  await eventually(async () =>
    expect((await testEnv.kubernetes.get(`${inSpace}/processes/${found.metadata.name}.web`)).status).toBe(200),
  );
  return { ...home, app, appName: found.metadata.name, droplets, route, routeName: routeObject.metadata.name, quotas };
}
