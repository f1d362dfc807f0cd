// Policies beyond our own kinds protect what is ours and block nothing else; nobody gets into a namespace that did not consent.
import { beforeAll, describe, expect, test } from "vitest";
import { CF_ROLES } from "../../../crds/roles.ts";
import type { Answer, Json } from "../kubernetes/api.ts";
import { binding } from "./roles.ts";
import { base, makeOrgAndSpace, to, type OrgAndSpace, type GetTestEnv } from "./test-env.ts";
import { eventually } from "../../eventually.ts";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const namespaces = "/api/v1/namespaces";
const group = "rbac.authorization.k8s.io";

export function tenancyTests(get: GetTestEnv): void {
  describe("tenancy", () => {
    let home: OrgAndSpace;
    beforeAll(async () => {
      home = await makeOrgAndSpace(get(), "tenancy");
      // Somebody with rights on namespaces and bindings of the cluster, and none of ours: an operator of another team.
      const rules = [
        {
          apiGroups: [""],
          resources: ["namespaces", "namespaces/status", "namespaces/finalize", "pods", "pods/ephemeralcontainers"],
          verbs: ["*"],
        },
        { apiGroups: [group], resources: ["rolebindings", "roles", "clusterroles"], verbs: ["*"] },
      ];
      await get().kubernetes.post(`${RBAC}/clusterroles`, {
        apiVersion: `${group}/v1`,
        kind: "ClusterRole",
        metadata: { name: "other-team" },
        rules,
      });
      await get().kubernetes.post(`${RBAC}/clusterrolebindings`, {
        ...binding("other-team", "other-team", ["partial"]),
        kind: "ClusterRoleBinding",
      });
      await newNamespace("theirs");
      await newNamespace("mirroring", {
        "space.cupola.dev/tier": "gold",
        "example.com.org.cupola.dev/tier": "gold",
      });
      await eventually(async () => expect((await get().at("partial").get(`${namespaces}/theirs`)).status).toBe(200));
    }, 60_000);

    async function newNamespace(name: string, labels: Record<string, string> = {}): Promise<void> {
      const made = await get().kubernetes.post(namespaces, {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name, labels },
      });
      expect(made.status, made.text).toBe(201);
      // The real server's controllers give it an account, without which no pod passes.
      await get().kubernetes.post(`${namespaces}/${name}/serviceaccounts`, {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: "default" },
      });
    }

    const relabel = (name: string, labels: Record<string, string | null>): Promise<Answer> =>
      get().at("partial").patch("merge", `${namespaces}/${name}?dryRun=All`, { metadata: { labels } });

    test.each<[string, string, Record<string, string | null>]>([
      ["whose it is", "SPACE", { "cupola.dev/owner-uid": "mine" }],
      ["that it is ours", "SPACE", { "cupola.dev/namespace": null }],
      [
        "all of them",
        "SPACE",
        {
          "cupola.dev/namespace": null,
          "cupola.dev/owner-uid": null,
          "cupola.dev/space-guid": null,
          "cupola.dev/org-guid": null,
        },
      ],
      ["the suspension", "ORG", { "cupola.dev/suspended": null, "cupola.dev/anything": "new" }],
      ["whose it is, of a foreign namespace", "theirs", { "cupola.dev/owner-uid": "mine" }],
      ["that a foreign one is ours", "kube-system", { "cupola.dev/namespace": "space" }],
      ["how its org is named", "SPACE", { "cupola.dev/org": "other" }],
      ["how its org is labelled", "ORG", { "org.cupola.dev/tier": "gold" }],
      ["how its space is labelled, by a key with a prefix", "SPACE", { "example.com.space.cupola.dev/tier": "gold" }],
      ["a label of its space no more", "mirroring", { "space.cupola.dev/tier": null }],
      ["another label of its org", "mirroring", { "example.com.org.cupola.dev/tier": "lead" }],
    ])("labels of a namespace that say %s are the platform's", async (_what, name, labels) => {
      const answer = await relabel(
        name.replace("SPACE", home.spaceNamespace).replace("ORG", home.orgNamespace),
        labels,
      );
      expect([answer.status, answer.body.message]).toEqual([
        403,
        expect.stringContaining("labels of cupola.dev mark the owner of a namespace"),
      ]);
    });

    test.each(["status", "finalize"])("nor are they changed through /%s", async (subresource) => {
      const path = `${namespaces}/${home.spaceNamespace}`;
      const { body } = await get().at("partial").get(path);
      const write = (labels: Json): Promise<Answer> =>
        get()
          .at("partial")
          .put(`${path}/${subresource}?dryRun=All`, { ...body, metadata: { ...body.metadata, labels } });
      expect((await write({ ...body.metadata.labels, "cupola.dev/owner-uid": "mine" })).body.message).toContain(
        "labels of cupola.dev mark the owner of a namespace",
      );
      expect((await write({ ...body.metadata.labels, team: "other" })).status).toBe(200);
    });

    test("users cannot create a namespace with the platform's labels", async () => {
      const made = await get()
        .at("partial")
        .post(`${namespaces}?dryRun=All`, {
          apiVersion: "v1",
          kind: "Namespace",
          metadata: { name: "posing", labels: { "cupola.dev/namespace": "org" } },
        });
      expect(made.status).toBe(403);
    });

    test("other labels, consent, and whatever an admin of all orgs does pass", async () => {
      const labels = { team: "other", "cupola.dev/adoptable-by": "acme", "my-org.cupola.dev.example.com/team": "x" };
      for (const name of [home.spaceNamespace, home.orgNamespace, "theirs", "kube-system", "mirroring"]) {
        expect([name, (await relabel(name, labels)).status]).toEqual([name, 200]);
      }
      expect(
        (
          await get()
            .at("partial")
            .post(`${namespaces}?dryRun=All`, {
              apiVersion: "v1",
              kind: "Namespace",
              metadata: { name: "free", labels: { "cupola.dev/adoptable-by": "any" } },
            })
        ).status,
      ).toBe(201);
      expect(
        (
          await get().kubernetes.patch("merge", `${namespaces}/${home.spaceNamespace}?dryRun=All`, {
            metadata: { labels: { "cupola.dev/namespace": null } },
          })
        ).status,
      ).toBe(200);
    });

    test("bindings in namespaces that are not ours, and others' in ours, are left alone", async () => {
      const own = {
        ...binding("team", "view", ["guest"]),
        metadata: { name: "team", labels: { "cupola.dev/managed-by": "somebody" }, finalizers: ["team.example/keep"] },
      };
      for (const name of ["theirs", "kube-system"])
        expect([
          name,
          (await get().at("partial").post(`${RBAC}/namespaces/${name}/rolebindings?dryRun=All`, own)).status,
        ]).toEqual([name, 201]);
      for (const role of ["view", "cluster-admin"])
        expect(
          (
            await get()
              .at("partial")
              .post(
                `${RBAC}/namespaces/${home.spaceNamespace}/rolebindings?dryRun=All`,
                binding("team", role, ["guest"]),
              )
          ).status,
        ).toBe(201);
      // A user with rights in a namespace by a foreign role is no manager of ours.
      await get().kubernetes.post(
        `${RBAC}/namespaces/${home.spaceNamespace}/rolebindings`,
        binding("operator-admin", "admin", ["operator"]),
      );
      const operator = get().kubernetes.as({ impersonate: "operator", groups: ["system:authenticated"] });
      await eventually(async () =>
        expect(
          (
            await operator.post(
              `${RBAC}/namespaces/${home.spaceNamespace}/rolebindings?dryRun=All`,
              binding("team", "view", ["guest"]),
            )
          ).status,
        ).toBe(201),
      );
    });

    test("a manager takes no name that the platform may need for a binding", async () => {
      const taken = await get().kubernetes.get(`${RBAC}/namespaces/${home.spaceNamespace}/rolebindings`);
      const platformManaged = taken.body.items
        .filter(({ metadata }: Json) => metadata.labels?.["cupola.dev/managed-by"])
        .map(({ metadata }: Json) => metadata.name as string);
      expect(platformManaged.length).toBeGreaterThan(0);
      expect(platformManaged.filter((name: string) => !name.startsWith("cupola-"))).toEqual([]);
      const bind = (name: string): Promise<Answer> =>
        get()
          .at("space_manager")
          .post(
            `${RBAC}/namespaces/${home.spaceNamespace}/rolebindings?dryRun=All`,
            binding(name, CF_ROLES.space_auditor.clusterRole, ["guest"]),
          );
      expect((await bind("cupola-space-org-auditor-12345")).body.message).toContain(
        "are reserved for the platform here",
      );
      expect((await bind("auditors")).status).toBe(201);
    });

    const pod = (name: string, image: string, more: Json = {}): Json => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: { containers: [{ name: "main", image }], ...more },
    });
    const run = (namespace: string, image: string, more: Json = {}): Promise<Answer> =>
      get().kubernetes.post(`${namespaces}/${namespace}/pods?dryRun=All`, pod("tried", image, more));

    /** `kubectl debug` of a pod that runs, where there is such a thing. */
    async function debugged(image: string, status: number): Promise<void> {
      const path = `${namespaces}/${home.spaceNamespace}/pods`;
      const running = pod("running", "busybox");
      expect([201, 409]).toContain((await get().kubernetes.post(path, running)).status);
      const answer = await get().kubernetes.patch("strategic", `${path}/running/ephemeralcontainers?dryRun=All`, {
        spec: { ephemeralContainers: [{ name: "debugger", image }] },
      });
      expect([image, answer.status]).toEqual([
        image,
        answer.text.includes("the server could not find the requested resource") ? 404 : status,
      ]);
    }

    test("without a registry prefix any image runs; with one, only a space's own below it", async () => {
      const account = await get().kubernetes.post(`${namespaces}/${home.spaceNamespace}/serviceaccounts`, {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: "default" },
      });
      expect([201, 409]).toContain(account.status);
      const other = "registry.example/apps/another-space/app:1";
      expect((await run(home.spaceNamespace, other)).status).toBe(201);
      await get().kubernetes.post(`${namespaces}/cupola-system/configmaps`, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "cupola-registry" },
        data: { prefix: "registry.example/apps" },
      });
      await eventually(async () =>
        expect((await run(home.spaceNamespace, other)).body.message).toContain("this image belongs to another space"),
      );
      const own = `registry.example/apps/${home.space}/app@sha256:${"0".repeat(64)}`;
      const refused: [string, Json?][] = [
        [other],
        ["registry.example:443/apps/another-space/app"],
        ["Registry.EXAMPLE/apps/another-space/app"],
        ["registry.example/apps/shared"],
        ["busybox", { initContainers: [{ name: "init", image: other }] }],
        ["busybox", { volumes: [{ name: "files", image: { reference: other } }] }],
      ];
      for (const [image, more] of refused)
        expect([image, (await run(home.spaceNamespace, image, more)).status]).toEqual([image, 403]);
      const allowed: string[] = [
        own,
        "registry.example/apps-of-others/x",
        "registry.example/elsewhere",
        "busybox",
        "another.example/apps/another-space/app",
      ];
      for (const image of allowed)
        expect([image, (await run(home.spaceNamespace, image)).status]).toEqual([image, 201]);
      for (const reference of [own, "busybox"])
        expect([
          reference,
          (
            await run(home.spaceNamespace, "busybox", {
              volumes: [
                { name: "files", image: { reference } },
                { name: "none", emptyDir: {} },
              ],
            })
          ).status,
        ]).toEqual([reference, 201]);
      await debugged(own, 200);
      await debugged(other, 403);
      for (const namespace of ["theirs", "kube-system"])
        expect([namespace, (await run(namespace, other)).status]).not.toEqual([namespace, 403]);
      await get().kubernetes.patch("merge", `${namespaces}/cupola-system/configmaps/cupola-registry`, {
        data: { prefix: "docker.io/cupola" },
      });
      for (const image of [
        "cupola/another-space/app",
        "docker.io/cupola/another-space/app",
        "index.docker.io/cupola/x",
      ])
        await eventually(async () =>
          expect([image, (await run(home.spaceNamespace, image)).status]).toEqual([image, 403]),
        );
      expect((await run(home.spaceNamespace, "busybox")).status).toBe(201);
      await get().kubernetes.patch("merge", `${namespaces}/cupola-system/configmaps/cupola-registry`, {
        data: { prefix: "Registry.example:443" },
      });
      await eventually(async () => expect((await run(home.spaceNamespace, other)).status).toBe(403));
      await get().kubernetes.delete(`${namespaces}/cupola-system/configmaps/cupola-registry`);
      await eventually(async () => expect((await run(home.spaceNamespace, other)).status).toBe(201));
    });

    const newSpace = (name: string, namespace: string): Json => ({
      apiVersion: "cupola.dev/v1alpha1",
      kind: "Space",
      metadata: { name },
      spec: { namespace },
    });
    const spaces = (): string => `${base}/namespaces/${home.orgNamespace}/spaces`;
    async function readyOf(name: string): Promise<Json> {
      const { body } = await get().kubernetes.get(`${spaces()}/${name}`);
      const ready = body.status?.conditions?.find((condition: Json) => condition.type === "Ready");
      expect(ready, name).toBeDefined();
      return ready;
    }

    test.each([
      ["kube-system", "NamespaceReserved"],
      ["default", "NamespaceReserved"],
      ["cupola-system", "NamespaceReserved"],
      ["theirs", "NotConsented"],
      ["tenancy", "NamespaceTaken"],
      ["tenancy-one", "NamespaceTaken"],
    ])("an org manager does not get into %s: %s", async (namespace, reason) => {
      const name = `into-${namespace}`;
      expect((await get().at("organization_manager").post(spaces(), newSpace(name, namespace))).status).toBe(201);
      await eventually(async () => expect((await readyOf(name)).reason).toBe(reason));
      const { body } = await get().kubernetes.get(`${namespaces}/${namespace}`);
      expect(JSON.stringify(body.metadata.labels ?? {})).not.toContain(
        (await get().kubernetes.get(`${spaces()}/${name}`)).body.metadata.uid,
      );
      const { items } = (await get().kubernetes.get(`${RBAC}/namespaces/${namespace}/rolebindings`)).body;
      expect(items.filter((one: Json) => one.metadata.annotations?.["cupola.dev/owner"]?.includes(name))).toEqual([]);
      expect((await get().at("organization_manager").get(`${base}/namespaces/${namespace}/apps`)).status).toBe(
        namespace === "tenancy-one" ? 200 : 403,
      );
      expect(
        (
          await get()
            .at("organization_manager")
            .post(
              `${RBAC}/namespaces/${namespace}/rolebindings?dryRun=All`,
              binding("in", CF_ROLES.space_developer.clusterRole, ["organization_manager"]),
            )
        ).status,
      ).toBe(namespace === "tenancy-one" ? 201 : 403);
      // Such a space takes nothing with it when it goes.
      expect((await get().at("organization_manager").delete(`${spaces()}/${name}`)).status).toBe(200);
      await eventually(async () => expect((await get().kubernetes.get(`${spaces()}/${name}`)).status).toBe(404));
      expect(
        (await get().kubernetes.get(`${namespaces}/${namespace}`)).body.metadata.deletionTimestamp,
      ).toBeUndefined();
    });

    test("with consent the namespace is adopted, and released when the space is deleted", async () => {
      await newNamespace("lent");
      expect((await get().at("organization_manager").post(spaces(), newSpace("lent", "lent"))).status).toBe(201);
      await eventually(async () => expect((await readyOf("lent")).reason).toBe("NotConsented"));
      // Consent is given by who may update namespaces, and by nobody else.
      const consent = { metadata: { labels: { "cupola.dev/adoptable-by": "tenancy" } } };
      expect((await get().at("organization_manager").patch("merge", `${namespaces}/lent`, consent)).status).toBe(403);
      expect((await get().at("partial").patch("merge", `${namespaces}/lent`, consent)).status).toBe(200);
      await eventually(async () => expect((await readyOf("lent")).status).toBe("True"));
      await eventually(async () =>
        expect((await get().at("organization_manager").get(`${base}/namespaces/lent/apps`)).status).toBe(200),
      );
      expect((await get().kubernetes.get(`${namespaces}/lent`)).body.metadata.labels).toMatchObject({
        "cupola.dev/namespace": "space",
      });
      const bindings = `${RBAC}/namespaces/lent/rolebindings`;
      expect(
        (
          await get()
            .at("organization_manager")
            .post(bindings, binding("tenant", CF_ROLES.space_developer.clusterRole, ["guest"]))
        ).status,
      ).toBe(201);
      expect((await get().kubernetes.post(bindings, binding("team", "view", ["owner"]))).status).toBe(201);
      expect((await get().at("organization_manager").delete(`${spaces()}/lent`)).status).toBe(200);
      await eventually(async () => expect((await get().kubernetes.get(`${spaces()}/lent`)).status).toBe(404));
      const { labels } = (await get().kubernetes.get(`${namespaces}/lent`)).body.metadata;
      expect(Object.keys(labels).filter((label) => label.startsWith("cupola.dev/"))).toEqual([
        "cupola.dev/adoptable-by",
      ]);
      await eventually(async () =>
        expect((await get().at("organization_manager").get(`${base}/namespaces/lent/apps`)).status).toBe(403),
      );
      // Roles in the space go with it; what its owner has bound stays.
      await eventually(async () =>
        expect((await get().kubernetes.get(bindings)).body.items.map((one: Json) => one.metadata.name)).toEqual([
          "team",
        ]),
      );
    });

    test("colliding names get namespaces of their own, by CF API and kubectl", async () => {
      await newNamespace("taken-one");
      const org = (await get().make("/v3/organizations", { name: "taken" })).guid;
      await get().make("/v3/spaces", { name: "one", relationships: { organization: to(org) } });
      const byHand = { apiVersion: "cupola.dev/v1alpha1", kind: "Org", metadata: { name: "kube-system" }, spec: {} };
      expect((await get().kubernetes.post(`${base}/orgs`, byHand)).status).toBe(201);
      await get().make("/v3/organizations", { name: "default" });
      const status = async (path: string): Promise<string> =>
        eventually(async () => {
          const { status: found } = (await get().kubernetes.get(`${base}/${path}`)).body;
          expect(found?.namespace).toBeDefined();
          return found.namespace;
        });
      expect(await status("namespaces/taken/spaces/one")).toMatch(/^taken-one-[0-9a-f]{5}$/);
      expect(await status("orgs/kube-system")).toMatch(/^kube-system-[0-9a-f]{5}$/);
      expect(await status("orgs/default")).toMatch(/^default-[0-9a-f]{5}$/);
      for (const name of ["kube-system", "default", "taken-one"])
        expect((await get().kubernetes.get(`${namespaces}/${name}`)).body.metadata.labels ?? {}).not.toHaveProperty([
          "cupola.dev/owner-uid",
        ]);
    });
  });
}
