// Rows: who somebody is, and what RBAC lets them do.
import { expect } from "vitest";
import type { Answer, Api, Json } from "../api.ts";
import { configMap, configMaps, group, row, widget, widgets, type Scene } from "../row.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const api = "rbac.authorization.k8s.io";
const ref = (kind: string, name: string) => ({ apiGroup: api, kind, name });
const role = (name: string, rules: Json[], kind = "Role", metadata: Json = {}) => ({
  apiVersion: `${api}/v1`,
  kind,
  metadata: { name, ...metadata },
  rules,
});
const binding = (name: string, roleRef: Json, subjects: Json[], kind = "RoleBinding") => ({
  apiVersion: `${api}/v1`,
  kind,
  metadata: { name },
  roleRef,
  subjects,
});
const rule = (verbs: string[], resources = ["widgets"], more: Json = {}) => ({
  apiGroups: [group],
  resources,
  verbs,
  ...more,
});
const review = (spec: Json) => ({ apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec });

async function may(scene: Scene, user: string, attributes: Json, groups: string[] = []): Promise<boolean> {
  const { body } = await scene.api.post(
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    review({ user, groups, resourceAttributes: { namespace: scene.ns, group, resource: "widgets", ...attributes } }),
  );
  return body.status.allowed;
}

/** A user of this row with these rules in its namespace, once the server knows. */
async function somebody(scene: Scene, rules: Json[]): Promise<{ name: string; as: Api }> {
  const name = scene.unique("user");
  expect((await scene.api.post(`${rbac}/namespaces/${scene.ns}/roles`, role(name, rules))).status).toBe(201);
  expect(
    (
      await scene.api.post(
        `${rbac}/namespaces/${scene.ns}/rolebindings`,
        binding(name, ref("Role", name), [ref("User", name)]),
      )
    ).status,
  ).toBe(201);
  const [first] = rules;
  const [resource, subresource = ""] = first.resources[0].split("/");
  await scene.eventually(async () =>
    expect(
      await may(scene, name, {
        verb: first.verbs[0],
        group: first.apiGroups[0],
        resource,
        subresource,
        name: first.resourceNames?.[0] ?? "",
      }),
    ).toBe(true),
  );
  return { name, as: scene.api.as({ impersonate: name }) };
}

const forbidden = (answer: Answer) => expect([answer.status, answer.body.reason]).toEqual([403, "Forbidden"]);

export const accessRows = [
  row("without a permission: 403 that names user, verb, resource and namespace", async ({ api: admin, ns }) => {
    const { status, body } = await admin.as({ impersonate: "nobody" }).get(`${widgets(ns)}/a`);
    expect(status).toBe(403);
    expect(body).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      reason: "Forbidden",
      code: 403,
      details: { name: "a", group, kind: "widgets" },
      message: `widgets.conformance.example "a" is forbidden: User "nobody" cannot get resource "widgets" in API group "conformance.example" in the namespace "${ns}"`,
    });
    forbidden(await admin.as({ impersonate: "nobody" }).get(`/apis/${group}/v1/widgets`));
  }),
  row("a role grants its rules and nothing more", async (scene) => {
    const { as } = await somebody(scene, [rule(["get", "list", "create"])]);
    expect((await as.post(widgets(scene.ns), widget("a"))).status).toBe(201);
    expect((await as.get(widgets(scene.ns))).status).toBe(200);
    forbidden(await as.delete(`${widgets(scene.ns)}/a`));
    forbidden(await as.patch("merge", `${widgets(scene.ns)}/a`, { spec: { size: 2 } }));
    forbidden(await as.get(configMaps(scene.ns)));
    expect((await as.get(`${widgets(scene.ns)}?watch=true&timeoutSeconds=1`)).status).toBe(403);
  }),
  row("apply of a missing object needs create as well as patch", async (scene) => {
    const { as } = await somebody(scene, [rule(["patch"])]);
    forbidden(await as.patch("apply", `${widgets(scene.ns)}/new?fieldManager=x`, widget("new")));
    await scene.api.post(widgets(scene.ns), widget("there"));
    expect(
      (await as.patch("apply", `${widgets(scene.ns)}/there?fieldManager=x&force=true`, widget("there", { size: 2 })))
        .status,
    ).toBe(200);
  }),
  row("permissions by name: get, and list with a field selector on metadata.name", async (scene) => {
    const { as } = await somebody(scene, [rule(["get", "list", "watch"], ["widgets"], { resourceNames: ["mine"] })]);
    await scene.api.post(widgets(scene.ns), widget("mine"));
    await scene.api.post(widgets(scene.ns), widget("other"));
    expect((await as.get(`${widgets(scene.ns)}/mine`)).status).toBe(200);
    forbidden(await as.get(`${widgets(scene.ns)}/other`));
    forbidden(await as.get(widgets(scene.ns)));
    const { status, body } = await as.get(`${widgets(scene.ns)}?fieldSelector=metadata.name=mine`);
    expect([status, body.items.map((item: Json) => item.metadata.name)]).toEqual([200, ["mine"]]);
  }),
  row("a subresource needs a permission of its own", async (scene) => {
    const { as } = await somebody(scene, [rule(["patch"], ["widgets/status"])]);
    await scene.api.post(widgets(scene.ns), widget("a"));
    expect((await as.patch("merge", `${widgets(scene.ns)}/a/status`, { status: { replicas: 1 } })).status).toBe(200);
    forbidden(await as.patch("merge", `${widgets(scene.ns)}/a`, { spec: { size: 2 } }));
  }),
  row("a virtual subresource without a path is a permission, too", async (scene) => {
    const { name } = await somebody(scene, [rule(["get"], ["widgets/paint"])]);
    expect(await may(scene, name, { verb: "get", subresource: "paint" })).toBe(true);
    expect(await may(scene, name, { verb: "get", subresource: "" })).toBe(false);
  }),
  row("groups, and a cluster role bound in one namespace", async (scene) => {
    const { api: admin, ns, unique } = scene;
    const name = unique("reader");
    await admin.post(`${rbac}/clusterroles`, role(name, [rule(["get", "list"])], "ClusterRole"));
    await admin.post(
      `${rbac}/namespaces/${ns}/rolebindings`,
      binding(name, ref("ClusterRole", name), [ref("Group", name)]),
    );
    await scene.eventually(async () => expect(await may(scene, "someone", { verb: "list" }, [name])).toBe(true));
    expect((await admin.as({ impersonate: "someone", groups: [name] }).get(widgets(ns))).status).toBe(200);
    forbidden(await admin.as({ impersonate: "someone", groups: [name] }).get(widgets("default")));
  }),
  row("an aggregated cluster role has the rules of the selected roles", async (scene) => {
    const { api: admin, unique } = scene;
    const name = unique("sum");
    await admin.post(`${rbac}/clusterroles`, {
      ...role(name, [], "ClusterRole"),
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { "sum-up-to": name } }] },
    });
    await admin.post(
      `${rbac}/clusterroles`,
      role(`${name}-part`, [rule(["get"])], "ClusterRole", { labels: { "sum-up-to": name } }),
    );
    await scene.eventually(async () =>
      expect((await admin.get(`${rbac}/clusterroles/${name}`)).body.rules).toEqual([rule(["get"])]),
    );
    await admin.delete(`${rbac}/clusterroles/${name}-part`);
    await scene.eventually(async () =>
      expect((await admin.get(`${rbac}/clusterroles/${name}`)).body.rules ?? []).toEqual([]),
    );
  }),
  row("nobody grants permissions that they lack", async (scene) => {
    const writer = { apiGroups: [api], resources: ["roles", "rolebindings"], verbs: ["create", "update", "patch"] };
    const { as, name } = await somebody(scene, [rule(["get"]), writer]);
    await scene.eventually(async () =>
      expect(await may(scene, name, { verb: "create", group: api, resource: "roles" })).toBe(true),
    );
    const path = `${rbac}/namespaces/${scene.ns}`;
    expect((await as.post(`${path}/roles`, role("fine", [rule(["get"])]))).status).toBe(201);
    const { status, body } = await as.post(`${path}/roles`, role("more", [rule(["get", "delete"])]));
    expect(status).toBe(403);
    expect(body.message).toContain("is attempting to grant RBAC permissions not currently held");
    expect(body.message).toContain('{APIGroups:["conformance.example"], Resources:["widgets"], Verbs:["delete"]}');
    forbidden(await as.patch("merge", `${path}/roles/fine`, { rules: [rule(["*"])] }));
  }),
  row("binding a role needs its permissions, or the verb bind on it", async (scene) => {
    const { api: admin, ns } = scene;
    const path = `${rbac}/namespaces/${ns}`;
    await admin.post(`${path}/roles`, role("strong", [rule(["*"])]));
    const writer = { apiGroups: [api], resources: ["rolebindings"], verbs: ["create"] };
    const weak = await somebody(scene, [writer]);
    forbidden(
      await weak.as.post(`${path}/rolebindings`, binding("b1", ref("Role", "strong"), [ref("User", weak.name)])),
    );
    const trusted = await somebody(scene, [
      { apiGroups: [api], resources: ["roles"], verbs: ["bind"], resourceNames: ["strong"] },
      writer,
    ]);
    await scene.eventually(async () =>
      expect(
        (await trusted.as.post(`${path}/rolebindings`, binding("b2", ref("Role", "strong"), [ref("User", "x")])))
          .status,
      ).toBe(201),
    );
  }),
  row("a binding's roleRef never changes", async ({ api: admin, ns }) => {
    const path = `${rbac}/namespaces/${ns}/rolebindings`;
    await admin.post(path, binding("b", ref("Role", "one"), [ref("User", "u")]));
    const { status, body } = await admin.patch("merge", `${path}/b`, { roleRef: ref("Role", "two") });
    expect([status, body.message]).toEqual([422, expect.stringContaining("cannot change roleRef")]);
    expect((await admin.patch("merge", `${path}/b`, { subjects: [ref("User", "v")] })).status).toBe(200);
  }),
  row("a binding to a missing role grants nothing until the role exists", async (scene) => {
    const { api: admin, ns, unique } = scene;
    const name = unique("later");
    await admin.post(`${rbac}/namespaces/${ns}/rolebindings`, binding(name, ref("Role", name), [ref("User", name)]));
    expect(await may(scene, name, { verb: "get" })).toBe(false);
    await admin.post(`${rbac}/namespaces/${ns}/roles`, role(name, [rule(["get"])]));
    await scene.eventually(async () => expect(await may(scene, name, { verb: "get" })).toBe(true));
    await admin.delete(`${rbac}/namespaces/${ns}/roles/${name}`);
    await scene.eventually(async () => expect(await may(scene, name, { verb: "get" })).toBe(false));
  }),
  row("impersonation needs permissions, for user and group separately", async (scene) => {
    const { api: admin, unique, issueClient } = scene;
    const actor = unique("actor");
    const pair = await issueClient({ commonName: actor });
    const headers = { "Impersonate-User": "target" };
    const who = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const body = JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" });
    const call = async (more: Record<string, string> = {}) =>
      await admin
        .as(pair)
        .send("POST", who, { body, headers: { "content-type": "application/json", ...headers, ...more } });
    forbidden(await call());
    await admin.post(
      `${rbac}/clusterroles`,
      role(
        actor,
        [{ apiGroups: [""], resources: ["users"], verbs: ["impersonate"], resourceNames: ["target"] }],
        "ClusterRole",
      ),
    );
    await admin.post(
      `${rbac}/clusterrolebindings`,
      binding(actor, ref("ClusterRole", actor), [ref("User", actor)], "ClusterRoleBinding"),
    );
    await scene.eventually(async () => expect((await call()).status).toBe(201));
    expect((await call()).body.status.userInfo).toMatchObject({ username: "target", groups: ["system:authenticated"] });
    forbidden(await call({ "Impersonate-Group": "system:masters" }));
  }),
  row("SelfSubjectReview: user, groups, uid and extra as impersonated", async ({ api: admin }) => {
    const as = admin.as({ impersonate: "eve", groups: ["g1", "g2"], uid: "u-1", extra: { scopes: "view" } });
    const { status, body } = await as.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "SelfSubjectReview",
    });
    expect(status).toBe(201);
    expect(body.status.userInfo).toEqual({
      username: "eve",
      uid: "u-1",
      groups: ["g1", "g2", "system:authenticated"],
      extra: { scopes: ["view"] },
    });
  }),
  row("the subject of a client certificate is the user and their groups", async ({ api: admin, issueClient }) => {
    const as = admin.as(await issueClient({ commonName: "carol", organizations: ["devs", "ops"] }));
    const { body } = await as.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "SelfSubjectReview",
    });
    expect(body.status.userInfo).toMatchObject({ username: "carol", groups: ["devs", "ops", "system:authenticated"] });
  }),
  row("a wrong token is 401, no credential is anonymous", async ({ api: admin, ns }) => {
    const wrong = await admin.as({ token: "wrong" }).get(configMaps(ns));
    expect([wrong.status, wrong.body]).toEqual([
      401,
      {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message: "Unauthorized",
        reason: "Unauthorized",
        code: 401,
      },
    ]);
    const none = await admin.as({ anonymous: true }).get(configMaps(ns));
    expect([none.status, none.body.message]).toEqual([
      403,
      expect.stringContaining('User "system:anonymous" cannot list resource "configmaps"'),
    ]);
    expect((await admin.as({ anonymous: true }).get("/version")).status).toBe(200);
  }),
  row("a service account's token: asked for, reviewed, used, and ended with its account", async (scene) => {
    const { api: admin, ns } = scene;
    await admin.post(`/api/v1/namespaces/${ns}/serviceaccounts`, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "robot" },
    });
    const request = () =>
      admin.post(`/api/v1/namespaces/${ns}/serviceaccounts/robot/token`, {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: 600 },
      });
    const { status, body } = await request();
    expect(status).toBe(201);
    const { token, expirationTimestamp } = body.status;
    expect(Date.parse(expirationTimestamp) - Date.now()).toBeLessThan(610_000);
    const reviewed = (
      await admin.post("/apis/authentication.k8s.io/v1/tokenreviews", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token },
      })
    ).body.status;
    const user = `system:serviceaccount:${ns}:robot`;
    expect(reviewed).toMatchObject({
      authenticated: true,
      user: {
        username: user,
        groups: expect.arrayContaining([
          "system:serviceaccounts",
          `system:serviceaccounts:${ns}`,
          "system:authenticated",
        ]),
      },
    });
    expect((await admin.as({ token }).get(configMaps(ns))).body.message).toContain(`User "${user}" cannot list`);
    // Each once: a server may trust for some seconds what it has reviewed, and see a moment later that the account is gone.
    const unused = (await Promise.all(Array.from({ length: 40 }, request))).map(
      (each) => each.body.status.token as string,
    );
    await admin.delete(`/api/v1/namespaces/${ns}/serviceaccounts/robot`);
    let at = 0;
    await scene.eventually(async () =>
      expect((await admin.as({ token: unused[at++] ?? token }).get(configMaps(ns))).status).toBe(401),
    );
  }),
  row("TokenReview: an invalid token and one for another audience are not authenticated", async ({ api: admin }) => {
    const reviewOf = async (spec: Json) =>
      (
        await admin.post("/apis/authentication.k8s.io/v1/tokenreviews", {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenReview",
          spec,
        })
      ).body.status;
    expect((await reviewOf({ token: "rubbish" })).authenticated ?? false).toBe(false);
  }),
  row("SelfSubjectAccessReview and SelfSubjectRulesReview are about the caller", async (scene) => {
    const { as } = await somebody(scene, [rule(["get"], ["widgets"], { resourceNames: ["mine"] })]);
    const ask = async (name: string) =>
      (
        await as.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SelfSubjectAccessReview",
          spec: { resourceAttributes: { namespace: scene.ns, verb: "get", group, resource: "widgets", name } },
        })
      ).body.status.allowed;
    expect([await ask("mine"), await ask("other")]).toEqual([true, false]);
    const rules = (
      await as.post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectRulesReview",
        spec: { namespace: scene.ns },
      })
    ).body.status;
    expect(rules.resourceRules).toContainEqual({
      apiGroups: [group],
      resources: ["widgets"],
      verbs: ["get"],
      resourceNames: ["mine"],
    });
  }),
  row("SubjectAccessReview has RBAC's reason and covers non-resource paths", async (scene) => {
    const { name } = await somebody(scene, [rule(["get"])]);
    const ask = async (spec: Json) =>
      (await scene.api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review(spec))).body.status;
    expect(
      (await ask({ user: name, resourceAttributes: { namespace: scene.ns, verb: "get", group, resource: "widgets" } }))
        .reason,
    ).toBe(`RBAC: allowed by RoleBinding "${name}/${scene.ns}" of Role "${name}" to User "${name}"`);
    expect((await ask({ user: name, nonResourceAttributes: { path: "/healthz", verb: "get" } })).allowed).toBe(false);
    expect(
      (
        await ask({
          user: name,
          groups: ["system:authenticated"],
          nonResourceAttributes: { path: "/healthz", verb: "get" },
        })
      ).allowed,
    ).toBe(true);
  }),
  row("the default cluster roles exist: cluster-admin, admin, edit, view", async (scene) => {
    for (const name of ["cluster-admin", "admin", "edit", "view"])
      expect((await scene.api.get(`${rbac}/clusterroles/${name}`)).status, name).toBe(200);
    const name = scene.unique("viewer");
    await scene.api.post(
      `${rbac}/namespaces/${scene.ns}/rolebindings`,
      binding(name, ref("ClusterRole", "view"), [ref("User", name)]),
    );
    await scene.api.post(configMaps(scene.ns), configMap("a"));
    const as = scene.api.as({ impersonate: name });
    await scene.eventually(async () => expect((await as.get(`${configMaps(scene.ns)}/a`)).status).toBe(200));
    forbidden(await as.get(`/api/v1/namespaces/${scene.ns}/secrets`));
  }),
];
