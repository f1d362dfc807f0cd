// Suspended orgs and spaces: CF's errors at the CF API, the same verdict by kubectl, admins exempt.
import { beforeAll, describe, expect, test } from "vitest";
import type { Answer, Json } from "../kubernetes/api.ts";
import { binding } from "./roles.ts";
import {
  base,
  makeOrgAndSpace,
  to,
  type CfResponse,
  type OrgAndSpace,
  type TestUser,
  type GetTestEnv,
} from "./test-env.ts";
import { eventually } from "../../eventually.ts";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
export const object = (kind: string, name: string, spec: Json): Json => ({
  apiVersion: "cupola.dev/v1alpha1",
  kind,
  metadata: { name },
  spec,
});
export const fault = ({ status, json }: CfResponse): unknown[] => [
  status,
  json.errors?.[0]?.title,
  json.errors?.[0]?.detail,
];

/** An org and a space with an app, a droplet and a route in it. */
export interface SuspensionFixtures extends OrgAndSpace {
  app: string;
  droplet: string;
  domain: string;
  package: string;
}

export async function createFixtures(get: GetTestEnv, name: string): Promise<SuspensionFixtures> {
  const testEnv = get();
  const home = await makeOrgAndSpace(testEnv, name);
  const app = (
    await testEnv.make("/v3/apps", {
      name: "shop",
      environment_variables: { A: "1" },
      relationships: { space: to(home.space) },
    })
  ).guid;
  const pack = (await testEnv.make("/v3/packages", { type: "bits", relationships: { app: to(app) } })).guid;
  const domain = (await testEnv.cf("admin", "GET", "/v3/domains?names=apps.example")).json.resources[0].guid;
  const inSpace = `${base}/namespaces/${home.spaceNamespace}`;
  const made = await testEnv.kubernetes.post(
    `${inSpace}/droplets`,
    object("Droplet", "shop", { appRef: { name: "shop" }, kind: "docker", image: "example.com/shop" }),
  );
  await eventually(async () =>
    expect((await testEnv.cf("admin", "GET", `/v3/droplets/${made.body.metadata.uid}`)).status).toBe(200),
  );
  await eventually(async () =>
    expect((await testEnv.kubernetes.get(`${inSpace}/processes/shop.web`)).status).toBe(200),
  );
  // The scale subresource is there only once the number of instances is.
  await testEnv.make(`/v3/apps/${app}/processes/web/actions/scale`, { instances: 2 });
  return { ...home, app, droplet: made.body.metadata.uid, domain, package: pack };
}

/** Writes by kubectl as dry runs, each that its person could do were nothing suspended. */
function byKubectl(
  get: GetTestEnv,
  { orgNamespace, spaceNamespace }: OrgAndSpace,
): Record<string, (person: TestUser) => Promise<Answer>> {
  const inSpace = `${base}/namespaces/${spaceNamespace}`;
  const dry = "?dryRun=All";
  return {
    "change an app": (person) =>
      get()
        .at(person)
        .patch("merge", `${inSpace}/apps/shop${dry}`, { spec: { restart: "now" } }),
    "make an app": (person) =>
      get()
        .at(person)
        .post(`${inSpace}/apps${dry}`, object("App", "new", {})),
    "delete an app": (person) => get().at(person).delete(`${inSpace}/apps/shop${dry}`),
    "scale a process": (person) =>
      get()
        .at(person)
        .patch("merge", `${inSpace}/processes/shop.web/scale${dry}`, { spec: { replicas: 3 } }),
    "make a route": (person) =>
      get()
        .at(person)
        .post(`${inSpace}/routes${dry}`, object("Route", "new", { host: "new", domainRef: { name: "apps.example" } })),
    "give a role in the space": (person) =>
      get()
        .at(person)
        .post(
          `${RBAC}/namespaces/${spaceNamespace}/rolebindings${dry}`,
          binding("new", "cupola-space-auditor", ["guest"]),
        ),
    "make a space": (person) =>
      get()
        .at(person)
        .post(`${base}/namespaces/${orgNamespace}/spaces${dry}`, object("Space", "new", {})),
    "change the space": (person) =>
      get()
        .at(person)
        .patch("merge", `${base}/namespaces/${orgNamespace}/spaces/one${dry}`, { spec: { allowSSH: false } }),
    "change the org": (person) =>
      get()
        .at(person)
        .patch("merge", `${base}/orgs/${orgNamespace}${dry}`, { metadata: { labels: { a: "b" } } }),
    "give a role in the org": (person) =>
      get()
        .at(person)
        .post(`${RBAC}/namespaces/${orgNamespace}/rolebindings${dry}`, binding("new", "cupola-org-auditor", ["guest"])),
  };
}

export function suspensionTests(get: GetTestEnv): void {
  describe("suspension", () => {
    let fixtures: SuspensionFixtures;
    beforeAll(async () => {
      fixtures = await createFixtures(get, "halted");
    }, 120_000);

    const byCf = (): [string, TestUser, string, string, unknown?][] => [
      ["restart", "space_developer", "POST", `/v3/apps/${fixtures.app}/actions/stop`],
      ["rename", "space_developer", "PATCH", `/v3/apps/${fixtures.app}`, { name: "other" }],
      [
        "make an app",
        "space_developer",
        "POST",
        "/v3/apps",
        { name: "new", relationships: { space: to(fixtures.space) } },
      ],
      [
        "set a variable",
        "space_supporter",
        "PATCH",
        `/v3/apps/${fixtures.app}/environment_variables`,
        { var: { A: "2" } },
      ],
      ["scale", "space_supporter", "POST", `/v3/apps/${fixtures.app}/processes/web/actions/scale`, { instances: 4 }],
      [
        "map",
        "space_supporter",
        "POST",
        "/v3/routes",
        { host: "halted", relationships: { space: to(fixtures.space), domain: to(fixtures.domain) } },
      ],
      ["upload", "space_developer", "POST", `/v3/packages/${fixtures.package}/upload`, "bits"],
      ["delete", "space_developer", "DELETE", `/v3/apps/${fixtures.app}`],
      [
        "give a role",
        "space_manager",
        "POST",
        "/v3/roles",
        { type: "space_auditor", relationships: { user: to("organization_user"), space: to(fixtures.space) } },
      ],
      ["rename the space", "space_manager", "PATCH", `/v3/spaces/${fixtures.space}`, { name: "two" }],
    ];

    async function suspend(path: string, suspended: boolean, namespace: string): Promise<void> {
      await get().make(path, { suspended }, "PATCH");
      await eventually(async () =>
        expect(
          Object.keys((await get().kubernetes.get(`/api/v1/namespaces/${namespace}`)).body.metadata.labels).includes(
            "cupola.dev/suspended",
          ),
        ).toBe(suspended),
      );
    }

    async function verdicts(
      of: Record<string, (person: TestUser) => Promise<Answer>>,
      person: TestUser,
    ): Promise<Record<string, string>> {
      const entries = await Promise.all(
        Object.entries(of).map(async ([what, attempt]) => {
          const { status, body } = await attempt(person);
          return [
            what,
            status < 300 ? "passes" : (/the (organization|space) is suspended/.exec(body.message)?.[0] ?? "no right"),
          ] as const;
        }),
      );
      return Object.fromEntries(entries);
    }

    test("of an org: all may read, only an admin may write, by CF API and kubectl", async () => {
      const before = await Promise.all(
        (["space_developer", "organization_manager"] as const).map((person) =>
          verdicts(byKubectl(get, fixtures), person),
        ),
      );
      expect(Object.values(before[0] ?? {})).not.toContain("the organization is suspended");
      await suspend(`/v3/organizations/${fixtures.org}`, true, fixtures.spaceNamespace);
      await eventually(async () =>
        expect((await byKubectl(get, fixtures)["change an app"]?.("space_developer"))?.text).toContain("is suspended"),
      );
      for (const [what, person, method, path, body] of byCf()) {
        expect([what, ...fault(await get().cf(person, method, path, body))]).toEqual([
          what,
          403,
          "CF-OrgSuspended",
          "The organization is suspended",
        ]);
      }
      for (const [at, person] of (["space_developer", "organization_manager"] as const).entries()) {
        const expected = Object.fromEntries(
          Object.entries(before[at] ?? {}).map(([what, was]) => [
            what,
            was === "passes" ? "the organization is suspended" : was,
          ]),
        );
        expect([person, await verdicts(byKubectl(get, fixtures), person)]).toEqual([person, expected]);
      }
      expect(new Set(Object.values(await verdicts(byKubectl(get, fixtures), "admin")))).toEqual(new Set(["passes"]));
      for (const path of [
        `/v3/apps/${fixtures.app}`,
        `/v3/organizations/${fixtures.org}`,
        `/v3/apps/${fixtures.app}/env`,
      ])
        expect([path, (await get().cf("space_developer", "GET", path)).status]).toEqual([path, 200]);
      // The value that was refused is nowhere: not in the Secret either.
      expect(
        (await get().cf("space_developer", "GET", `/v3/apps/${fixtures.app}/env`)).json.environment_variables,
      ).toEqual({ A: "1" });
      await get().make(`/v3/apps/${fixtures.app}`, { metadata: { labels: { by: "admin" } } }, "PATCH");
      await suspend(`/v3/organizations/${fixtures.org}`, false, fixtures.spaceNamespace);
      await eventually(async () =>
        expect((await get().cf("space_developer", "PATCH", `/v3/apps/${fixtures.app}`, { name: "shop" })).status).toBe(
          200,
        ),
      );
    });

    test("of a space: managers of the org write, too", async () => {
      await suspend(`/v3/spaces/${fixtures.space}`, true, fixtures.spaceNamespace);
      await eventually(async () =>
        expect((await byKubectl(get, fixtures)["change an app"]?.("space_developer"))?.text).toContain("is suspended"),
      );
      for (const [what, person, method, path, body] of byCf()) {
        expect([what, ...fault(await get().cf(person, method, path, body))]).toEqual([
          what,
          403,
          "CF-SpaceSuspended",
          "The space is suspended",
        ]);
      }
      expect(await verdicts(byKubectl(get, fixtures), "space_developer")).toMatchObject({
        "change an app": "the space is suspended",
        "scale a process": "the space is suspended",
      });
      expect(await verdicts(byKubectl(get, fixtures), "space_manager")).toMatchObject({
        "change the space": "the space is suspended",
        "give a role in the space": "the space is suspended",
      });
      expect(await verdicts(byKubectl(get, fixtures), "organization_manager")).toMatchObject({
        "change the space": "passes",
        "make a space": "passes",
        "change the org": "passes",
        "give a role in the space": "passes",
      });
      expect(new Set(Object.values(await verdicts(byKubectl(get, fixtures), "admin")))).toEqual(new Set(["passes"]));
      expect(
        (await get().cf("organization_manager", "PATCH", `/v3/spaces/${fixtures.space}`, { suspended: false })).json,
      ).toMatchObject({ suspended: false });
      await eventually(async () =>
        expect((await byKubectl(get, fixtures)["change an app"]?.("space_developer"))?.status).toBe(200),
      );
    });
  });
}
