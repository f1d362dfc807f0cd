// Which role sees, makes, deletes and grants what, at both doors; and roles that kubectl gives.
import { beforeAll, describe, expect, test } from "vitest";
import { CF_ROLES, type CFRole } from "../../../crds/roles.ts";
import type { Answer, Json } from "../kubernetes/api.ts";
import {
  base,
  CF_ROLE_NAMES,
  giveRole,
  makeOrgAndSpace,
  TEST_USERS,
  to,
  type TestUser,
  type GetTestEnv,
} from "./test-env.ts";
import { eventually } from "../../eventually.ts";
import { CREATE_ROWS, READ_ROWS, type RoleFixtures } from "./role-rows.ts";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";

const ok = ({ status }: { status: number }): boolean => status < 300;

async function whoPasses(attempt: (person: TestUser) => Promise<{ status: number }>): Promise<TestUser[]> {
  const passed: TestUser[] = [];
  for (const person of TEST_USERS) if (ok(await attempt(person))) passed.push(person);
  return passed.sort();
}

export function roleTests(get: GetTestEnv): void {
  describe("roles", () => {
    let things: RoleFixtures;
    beforeAll(async () => {
      things = await createFixtures(get);
    }, 120_000);

    test.each(READ_ROWS.map((row) => [row.what, row] as const))("who sees %s", async (_what, row) => {
      const allowed = [...row.allowed].sort();
      expect(await whoPasses((person) => get().cf(person, "GET", row.cf(things)))).toEqual(allowed);
      const { path } = row;
      if (path) expect(await whoPasses((person) => get().at(person).get(path(things)))).toEqual(allowed);
    });

    test("lists hold the same", async () => {
      const counted = async (person: TestUser, list: string): Promise<number> =>
        (await get().cf(person, "GET", `/v3/${list}`)).json.resources.filter((one: { guid: string }) =>
          Object.values(things).includes(one.guid),
        ).length;
      for (const person of TEST_USERS) {
        const shown = await Promise.all(
          ["organizations", "spaces", "apps", "routes", "domains", "droplets", "roles"].map((list) =>
            counted(person, list),
          ),
        );
        const sees = (what: string): number =>
          READ_ROWS.find((row) => row.what === what)?.allowed.includes(person) ? 1 : 0;
        expect([person, ...shown]).toEqual([
          person,
          ...["the org", "the space", "an app", "a route", "a private domain", "a droplet", "a role in the org"].map(
            sees,
          ),
        ]);
      }
    });

    test.each(CREATE_ROWS.map((row) => [row.what, row] as const))("who makes %s", async (_what, row) => {
      const [path, body] = row.kubectl(things);
      const allowed = [...row.allowed].sort();
      expect(await whoPasses((person) => get().at(person).post(`${path}?dryRun=All`, body))).toEqual(allowed);
      expect(await whoPasses((person) => get().cf(person, ...row.cf(things, person)))).toEqual(allowed);
    });

    const MAY_GIVE: Partial<Record<TestUser, readonly CFRole[]>> = {
      admin: CF_ROLE_NAMES,
      organization_manager: CF_ROLE_NAMES,
      space_manager: CF_ROLE_NAMES.filter((role) => CF_ROLES[role].scope === "space"),
    };

    test("who gives which role", { timeout: 60_000 }, async () => {
      await giveRole(get(), { role: "organization_user", user: "guest", scope: { organization: to(things.org) } });
      for (const person of TEST_USERS) {
        for (const role of CF_ROLE_NAMES.filter((one) => one !== "organization_user")) {
          const isOrg = CF_ROLES[role].scope === "org";
          const may = MAY_GIVE[person]?.includes(role) ?? false;
          const namespace = isOrg ? things.orgNamespace : things.spaceNamespace;
          const tried = await get()
            .at(person)
            .post(
              `${RBAC}/namespaces/${namespace}/rolebindings?dryRun=All`,
              binding("tried", CF_ROLES[role].clusterRole, ["guest"]),
            );
          const given = await get().cf(person, "POST", "/v3/roles", {
            type: role,
            relationships: {
              user: to("guest"),
              ...(isOrg ? { organization: to(things.org) } : { space: to(things.space) }),
            },
          });
          const title = `${person} gives ${role}`;
          expect([title, ok(tried), ok(given)], `${tried.text} ${JSON.stringify(given.json)}`).toEqual([
            title,
            may,
            may,
          ]);
          if (ok(given))
            expect((await get().cf(person, "DELETE", `/v3/roles/${given.json.guid}`)).status, title).toBe(202);
        }
      }
    });

    test("a manager binds CF's roles of that place and nothing else", async () => {
      const { orgNamespace, spaceNamespace } = things;
      const refused: [TestUser, string, string][] = [
        ["space_manager", spaceNamespace, "cluster-admin"],
        ["space_manager", spaceNamespace, "view"],
        ["space_manager", spaceNamespace, "cupola-org-manager"],
        // Whoever holds all that a role gives may bind it, says RBAC: the policy says no.
        ["space_manager", spaceNamespace, "cupola-org-user"],
        ["organization_manager", spaceNamespace, "cupola-space-org-manager"],
        ["organization_manager", spaceNamespace, "cupola-org-user"],
        ["organization_manager", orgNamespace, "cupola-admin"],
        ["organization_manager", orgNamespace, "cupola-org-creator"],
      ];
      for (const [person, namespace, role] of refused) {
        const answer = await get()
          .at(person)
          .post(`${RBAC}/namespaces/${namespace}/rolebindings?dryRun=All`, binding("tried", role, ["guest"]));
        expect([person, role, answer.status], answer.text).toEqual([person, role, 403]);
      }
      // Nor do they take away, or add to, what others have bound.
      const path = `${RBAC}/namespaces/${spaceNamespace}/rolebindings`;
      expect((await get().kubernetes.post(path, binding("of-others", "view", ["other"]))).status).toBe(201);
      for (const person of ["space_manager", "organization_manager"] as const) {
        expect([person, (await get().at(person).delete(`${path}/of-others`)).status]).toEqual([person, 403]);
        expect([
          person,
          (
            await get()
              .at(person)
              .patch("merge", `${path}/of-others`, { metadata: { labels: { a: "b" } } })
          ).status,
        ]).toEqual([person, 403]);
      }
      // An admin of the cluster binds what they like, there too.
      expect(
        (
          await get().kubernetes.post(
            `${RBAC}/namespaces/${spaceNamespace}/rolebindings?dryRun=All`,
            binding("tried", "view", ["guest"]),
          )
        ).status,
      ).toBe(201);
    });

    test("a manager gives no role that outlives its RoleBinding's deletion", async () => {
      const path = `${RBAC}/namespaces/${things.spaceNamespace}/rolebindings`;
      const role = binding("kept", CF_ROLES.space_auditor.clusterRole, ["guest"]);
      const held = { ...role, metadata: { ...role.metadata, finalizers: ["guest.example/stay"] } };
      const kube = get().at("space_manager");
      const finalizers = (names: string[]): Json => ({ metadata: { finalizers: names } });
      const refused = async (answer: Promise<Answer>): Promise<void> =>
        expect([(await answer).status, (await answer).body.message]).toEqual([
          403,
          expect.stringContaining("RBAC honours the binding until it is gone"),
        ]);
      await refused(kube.post(path, held));
      expect((await kube.post(path, role)).status).toBe(201);
      for (const name of ["guest.example/stay", "foregroundDeletion", "orphan"])
        await refused(kube.patch("merge", `${path}/kept`, finalizers([name])));
      await refused(
        kube.delete(`${path}/kept`, { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Foreground" }),
      );
      // A manager leaves an admin's entries, adds nothing to them, and may remove them.
      expect((await get().kubernetes.patch("merge", `${path}/kept`, finalizers(["admin.example/audit"]))).status).toBe(
        200,
      );
      await refused(kube.patch("merge", `${path}/kept`, finalizers(["admin.example/audit", "guest.example/stay"])));
      expect((await kube.patch("merge", `${path}/kept`, { metadata: { labels: { a: "b" } } })).status).toBe(200);
      expect((await kube.patch("merge", `${path}/kept`, finalizers([]))).status).toBe(200);
      expect((await kube.delete(`${path}/kept`)).status).toBe(200);
      expect((await get().kubernetes.get(`${path}/kept`)).status).toBe(404);
      expect((await get().at("admin").post(`${path}?dryRun=All`, held)).status).toBe(201);
    });

    test("users cannot change the platform's bindings", async () => {
      const { items } = (
        await get().kubernetes.get(
          `${RBAC}/namespaces/${things.spaceNamespace}/rolebindings?labelSelector=cupola.dev/managed-by`,
        )
      ).body;
      expect(items.length).toBeGreaterThan(0);
      const path = `${RBAC}/namespaces/${things.spaceNamespace}/rolebindings`;
      for (const person of ["organization_manager", "space_manager"] as const) {
        const kube = get().at(person);
        for (const { metadata } of items) {
          expect((await kube.delete(`${path}/${metadata.name}?dryRun=All`)).body.message).toContain(
            "belongs to the platform",
          );
          // RBAC itself is first to refuse where the binding's rights are not the manager's own.
          expect(
            (
              await kube.patch("merge", `${path}/${metadata.name}?dryRun=All`, {
                metadata: { labels: { "cupola.dev/managed-by": null } },
              })
            ).body.message,
          ).toMatch(/belongs to the platform|attempting to grant RBAC permissions/);
        }
        const own = binding("posing", CF_ROLES.space_auditor.clusterRole, ["guest"]);
        expect(
          (
            await kube.post(`${path}?dryRun=All`, {
              ...own,
              metadata: { name: "posing", labels: { "cupola.dev/managed-by": "me" } },
            })
          ).status,
        ).toBe(403);
      }
    });

    test("a RoleBinding of kubectl is a role in cf, one for each subject; taking one is a patch, by a manager", async () => {
      const path = `${RBAC}/namespaces/${things.spaceNamespace}/rolebindings`;
      const made = await get()
        .at("space_manager")
        .post(path, binding("team", CF_ROLES.space_auditor.clusterRole, ["tick", "trick", "track"]));
      expect(made.status, made.text).toBe(201);
      const roles = await eventually(async () => {
        const { resources } = (await get().cf("space_manager", "GET", "/v3/roles?user_guids=tick,trick,track")).json;
        expect(
          resources
            .map((role: Json) => [role.type, role.relationships.user.data.guid, role.relationships.space.data.guid])
            .sort(),
        ).toEqual(["tick", "track", "trick"].map((user) => ["space_auditor", user, things.space]));
        return resources;
      });
      const trick = roles.find((role: Json) => role.relationships.user.data.guid === "trick");
      expect((await get().cf("space_manager", "DELETE", `/v3/roles/${trick.guid}`)).status).toBe(202);
      const remaining = (await get().kubernetes.get(`${path}/team`)).body;
      expect([remaining.metadata.uid, remaining.subjects.map(({ name }: Json) => name)]).toEqual([
        made.body.metadata.uid,
        ["tick", "track"],
      ]);
      expect((await get().kubernetes.delete(`${path}/team`)).status).toBe(200);
    });

    test("a Role named like a CF role is not a CF role", async () => {
      const path = `${RBAC}/namespaces/${things.spaceNamespace}`;
      const name = CF_ROLES.space_manager.clusterRole;
      expect(
        (
          await get().kubernetes.post(`${path}/roles`, {
            apiVersion: "rbac.authorization.k8s.io/v1",
            kind: "Role",
            metadata: { name },
            rules: [],
          })
        ).status,
      ).toBe(201);
      const posing = binding("posing", name, ["impostor"]);
      expect(
        (
          await get().kubernetes.post(`${path}/rolebindings`, {
            ...posing,
            roleRef: { ...posing.roleRef, kind: "Role" },
          })
        ).status,
      ).toBe(201);
      // Told after the one before it, so that an empty list is no list that is only late.
      expect((await get().kubernetes.post(`${path}/rolebindings`, binding("real", name, ["honest"]))).status).toBe(201);
      await eventually(async () =>
        expect(
          (await get().cf("admin", "GET", "/v3/roles?user_guids=impostor,honest")).json.resources.map(
            (role: Json) => role.relationships.user.data.guid,
          ),
        ).toEqual(["honest"]),
      );
    });
  });
}

export function binding(name: string, clusterRole: string, users: readonly string[]): Json {
  const apiGroup = "rbac.authorization.k8s.io";
  return {
    apiVersion: `${apiGroup}/v1`,
    kind: "RoleBinding",
    metadata: { name },
    roleRef: { apiGroup, kind: "ClusterRole", name: clusterRole },
    subjects: users.map((user) => ({ kind: "User", apiGroup, name: user })),
  };
}

async function createFixtures(get: GetTestEnv): Promise<RoleFixtures> {
  const testEnv = get();
  const home = await makeOrgAndSpace(testEnv, "roles");
  const app = (
    await testEnv.make("/v3/apps", {
      name: "shop",
      environment_variables: { A: "1" },
      relationships: { space: to(home.space) },
    })
  ).guid;
  const domain = (
    await testEnv.make("/v3/domains", { name: "roles.example", relationships: { organization: to(home.org) } })
  ).guid;
  const names = { spec: { host: "shop", domainRef: { name: "roles.example" } }, apiVersion: "cupola.dev/v1alpha1" };
  const post = async (plural: string, body: Json): Promise<string> => {
    const made = await testEnv.kubernetes.post(`${base}/namespaces/${home.spaceNamespace}/${plural}`, body);
    expect(made.status, made.text).toBe(201);
    return made.body.metadata.uid;
  };
  const route = await post("routes", { ...names, kind: "Route", metadata: { name: "shop" } });
  const droplet = await post("droplets", {
    apiVersion: "cupola.dev/v1alpha1",
    kind: "Droplet",
    metadata: { name: "shop" },
    spec: { appRef: { name: "shop" }, kind: "docker", image: "example.com/shop" },
  });
  for (const path of [`/v3/routes/${route}`, `/v3/droplets/${droplet}`, `/v3/processes/${app}`])
    await eventually(async () => expect([path, (await testEnv.cf("admin", "GET", path)).status]).toEqual([path, 200]));
  const manager = (
    await testEnv.cf("admin", "GET", `/v3/roles?organization_guids=${home.org}&types=organization_manager`)
  ).json.resources[0].guid;
  return { ...home, app, domain, route, droplet, manager };
}
