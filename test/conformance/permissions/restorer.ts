// A person with `cupola-restorer`, for an import, writes Secrets where an import does, and gets no token of another account.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RESTORER_CLUSTER_ROLE } from "../../../crds/roles.ts";
import { eventually } from "../../eventually.ts";
import type { Answer, Json } from "../kubernetes/api.ts";
import { base, makeOrgAndSpace, type GetTestEnv, type OrgAndSpace } from "./test-env.ts";

const RBAC = "rbac.authorization.k8s.io";
const BINDINGS = `/apis/${RBAC}/v1/clusterrolebindings`;
const TOKEN_TYPE = "kubernetes.io/service-account-token";

export function restorerTests(get: GetTestEnv): void {
  describe("an import", () => {
    let home: OrgAndSpace;
    const write = (namespace: string, name: string, more: Json = {}): Promise<Answer> =>
      get()
        .at("partial")
        .post(`/api/v1/namespaces/${namespace}/secrets?dryRun=All`, {
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name },
          ...more,
        });
    const token = {
      type: TOKEN_TYPE,
      metadata: { name: "token", annotations: { "kubernetes.io/service-account.name": "default" } },
    };

    beforeAll(async () => {
      home = await makeOrgAndSpace(get(), "restored");
      const bound = await get().kubernetes.post(BINDINGS, {
        apiVersion: `${RBAC}/v1`,
        kind: "ClusterRoleBinding",
        metadata: { name: "test-restorer" },
        roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: RESTORER_CLUSTER_ROLE },
        subjects: [{ kind: "User", apiGroup: RBAC, name: "partial" }],
      });
      expect(bound.status, bound.text).toBe(201);
      await eventually(async () => expect((await write(home.spaceNamespace, "ready")).status).toBe(201));
      // A new policy is in force a moment later.
      await eventually(async () => expect((await write("default", "ready")).status).toBe(403));
    }, 60_000);

    afterAll(async () => {
      await get().kubernetes.delete(`${BINDINGS}/test-restorer`);
      // Others count on a person without rights.
      await eventually(async () => expect((await write(home.spaceNamespace, "ready")).status).toBe(403));
    });

    test("writes Secrets of orgs and spaces, and credentials of brokers", async () => {
      for (const [namespace, name] of [
        [home.spaceNamespace, "shop-env"],
        [home.orgNamespace, "any"],
        ["cupola-system", "cupola-broker-credentials"],
        ["cupola-system", "cupola-space-broker-credentials-7"],
      ] as const)
        expect([namespace, name, (await write(namespace, name)).status]).toEqual([namespace, name, 201]);
    });

    test("writes no other Secret, and none that Kubernetes fills with a token", async () => {
      const refused = await Promise.all([
        write("kube-system", "mine"),
        write("kube-system", "token", token),
        write("default", "mine"),
        write("cupola-system", "cupola-login-key"),
      ]);
      for (const answer of refused)
        expect([answer.status, answer.body.message]).toEqual([
          403,
          expect.stringContaining("writes Secrets in the namespaces of orgs and spaces"),
        ]);
      const stolen = await write(home.spaceNamespace, "token", token);
      expect([stolen.status, stolen.body.message]).toEqual([
        403,
        expect.stringContaining("makes no Secrets with tokens of service accounts"),
      ]);
    });

    test("changes no Secret elsewhere", async () => {
      const path = "/api/v1/namespaces/default/secrets";
      const theirs = { apiVersion: "v1", kind: "Secret", metadata: { name: "theirs" } };
      expect((await get().kubernetes.post(path, theirs)).status).toBe(201);
      const change = { stringData: { a: "b" } };
      expect((await get().at("partial").patch("merge", `${path}/theirs`, change)).status).toBe(403);
      // An administrator of the cluster is none of this policy's business.
      expect((await get().kubernetes.patch("merge", `${path}/theirs`, change)).status).toBe(200);
      expect((await get().kubernetes.delete(`${path}/theirs`)).status).toBe(200);
    });

    test("writes no kind that belongs to the installation", async () => {
      const object = {
        apiVersion: "cupola.dev/v1alpha1",
        kind: "PolicyTemplate",
        metadata: { name: "mine" },
        spec: {},
      };
      const made = await get().at("partial").post(`${base}/policytemplates?dryRun=All`, object);
      expect(made.status, made.text).toBe(403);
    });
  });
}
