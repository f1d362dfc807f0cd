// Rows: questions about tokens, identities and rights, and rights that grant others: impersonation, escalation, binding, aggregation.
import { expect } from "vitest";
import type { Answer, Api, Json } from "../api.ts";
import { group, row, widgets, widget, type Scene } from "../row.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const api = "rbac.authorization.k8s.io";
const issuer = "https://kubernetes.default.svc.cluster.local";
const authentication = "/apis/authentication.k8s.io/v1";
const authorization = "/apis/authorization.k8s.io/v1";
const rule = (verbs: string[], resources: string[], more: Json = {}) => ({
  apiGroups: [group],
  resources,
  verbs,
  ...more,
});
const role = (kind: string, name: string, rules: Json[], more: Json = {}) => ({
  apiVersion: `${api}/v1`,
  kind,
  metadata: { name, ...more.metadata },
  rules,
  ...more.root,
});

/** A cluster role for one user of this row, who has it. */
async function grant(
  { api: admin, unique, eventually }: Scene,
  user: string,
  rules: Json[],
  proof: () => Promise<void>,
): Promise<void> {
  const name = unique("granted");
  await admin.post(`${rbac}/clusterroles`, role("ClusterRole", name, rules));
  await admin.post(`${rbac}/clusterrolebindings`, {
    apiVersion: `${api}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: api, kind: "ClusterRole", name },
    subjects: [{ apiGroup: api, kind: "User", name: user }],
  });
  await eventually(proof);
}

const tokenReview = async (as: Api, spec: Json): Promise<Json> =>
  (
    await as.post(`${authentication}/tokenreviews`, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec,
    })
  ).body.status;
const self = async (as: Api): Promise<Answer> =>
  await as.post(`${authentication}/selfsubjectreviews`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "SelfSubjectReview",
  });
const ask = async (as: Api, kind: string, spec: Json, ns = ""): Promise<Answer> =>
  await as.post(`${authorization}/${ns && `namespaces/${ns}/`}${kind.toLowerCase()}s`, {
    apiVersion: "authorization.k8s.io/v1",
    kind,
    ...(ns && { metadata: { namespace: ns } }),
    spec,
  });

/** The caller's record is not part of the answer. */
const withoutMetadata = ({ metadata: _metadata, ...rest }: Json) => rest;
const invalid = ({ status, body }: Answer) => [status, body.reason, body.details.causes];
const cause = (field: string, message: string) => ({ reason: "FieldValueInvalid", field, message });

async function tokenOf({ api: admin, ns }: Scene, spec: Json = {}): Promise<string> {
  await admin.post(`/api/v1/namespaces/${ns}/serviceaccounts`, {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "robot" },
  });
  const { status, body } = await admin.post(`/api/v1/namespaces/${ns}/serviceaccounts/robot/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec,
  });
  expect(status).toBe(201);
  return body.status.token;
}

export const reviewRows = [
  row("TokenReview returns the audiences that the token has, in the order of the request", async (scene) => {
    const plain = await tokenOf(scene);
    expect((await tokenReview(scene.api, { token: plain })).audiences).toEqual([issuer]);
    const two = await tokenOf(scene, { audiences: ["one", "two"] });
    expect(await tokenReview(scene.api, { token: two, audiences: ["two", "three", "one"] })).toMatchObject({
      authenticated: true,
      audiences: ["two", "one"],
      user: { username: `system:serviceaccount:${scene.ns}:robot` },
    });
    expect(await tokenReview(scene.api, { token: two })).toEqual({
      user: {},
      error: `[invalid bearer token, token audiences ["one" "two"] is invalid for the target audiences ["${issuer}"]]`,
    });
    expect((await scene.api.as({ token: two }).get(widgets(scene.ns))).status).toBe(401);
  }),
  row("TokenReview of an invalid token, and of none", async ({ api: admin, ns }) => {
    expect(await tokenReview(admin, { token: "rubbish" })).toEqual({ user: {}, error: "invalid bearer token" });
    const { status, body } = await admin.post(`${authentication}/tokenreviews`, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: {},
    });
    expect([status, body.reason, body.message]).toEqual([
      400,
      "BadRequest",
      "token is required for TokenReview in authentication",
    ]);
    expect(ns).not.toBe("");
  }),
  row("TokenRequest: a lifetime too short, a missing object, a missing account", async (scene) => {
    await tokenOf(scene);
    const request = async (account: string, spec: Json) =>
      await scene.api.post(`/api/v1/namespaces/${scene.ns}/serviceaccounts/${account}/token`, {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec,
      });
    expect(invalid(await request("robot", { expirationSeconds: 5 }))).toEqual([
      422,
      "Invalid",
      [cause("spec.expirationSeconds", "Invalid value: 5: may not specify a duration less than 10 minutes")],
    ]);
    expect(
      (await request("robot", { boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "nope" } })).body,
    ).toMatchObject({ reason: "NotFound", message: 'pods "nope" not found' });
    expect((await request("nobody", {})).body).toMatchObject({
      reason: "NotFound",
      message: 'serviceaccounts "nobody" not found',
    });
  }),
  row("SelfSubjectReview of a service account: name, uid, groups and the token's id", async (scene) => {
    const as = scene.api.as({ token: await tokenOf(scene) });
    const { body } = await self(as);
    const account = (await scene.api.get(`/api/v1/namespaces/${scene.ns}/serviceaccounts/robot`)).body;
    expect(body.status.userInfo).toEqual({
      username: `system:serviceaccount:${scene.ns}:robot`,
      uid: account.metadata.uid,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${scene.ns}`, "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^JTI=/)] },
    });
  }),
  row(
    "impersonated service accounts have their groups; groups without a user are an error",
    async ({ api: admin, ns }) => {
      expect((await self(admin.as({ impersonate: `system:serviceaccount:${ns}:x` }))).body.status.userInfo).toEqual({
        username: `system:serviceaccount:${ns}:x`,
        groups: ["system:serviceaccounts", `system:serviceaccounts:${ns}`, "system:authenticated"],
      });
      expect((await admin.send("GET", widgets(ns), { headers: { "impersonate-group": "g" } })).status).toBe(500);
    },
  ),
  row("impersonation: uid and each extra value need permissions of their own", async (scene) => {
    const { api: admin, unique, issueClient } = scene;
    const actor = unique("actor");
    const as = admin.as(await issueClient({ commonName: actor }));
    const call = (headers: Record<string, string>) =>
      as.send("POST", `${authentication}/selfsubjectreviews`, {
        body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }),
        headers: { "content-type": "application/json", "impersonate-user": "target", ...headers },
      });
    await grant(
      scene,
      actor,
      [
        { apiGroups: [""], resources: ["users"], verbs: ["impersonate"], resourceNames: ["target"] },
        {
          apiGroups: ["authentication.k8s.io"],
          resources: ["userextras/scopes"],
          verbs: ["impersonate"],
          resourceNames: ["view"],
        },
        { apiGroups: ["authentication.k8s.io"], resources: ["uids"], verbs: ["impersonate"], resourceNames: ["u-1"] },
      ],
      async () => expect((await call({})).status).toBe(201),
    );
    expect((await call({ "impersonate-uid": "u-1", "impersonate-extra-scopes": "view" })).body.status.userInfo).toEqual(
      { username: "target", uid: "u-1", groups: ["system:authenticated"], extra: { scopes: ["view"] } },
    );
    const refused = await call({ "impersonate-extra-scopes": "edit" });
    expect([refused.status, refused.body.message]).toEqual([
      403,
      `userextras.authentication.k8s.io "edit" is forbidden: User "${actor}" cannot impersonate resource "userextras/scopes" in API group "authentication.k8s.io" at the cluster scope`,
    ]);
    expect((await call({ "impersonate-uid": "u-2" })).body.message).toBe(
      `uids.authentication.k8s.io "u-2" is forbidden: User "${actor}" cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope`,
    );
    expect((await call({ "impersonate-group": "g" })).body.message).toBe(
      `groups "g" is forbidden: User "${actor}" cannot impersonate resource "groups" in API group "" at the cluster scope`,
    );
  }),
  row("the verb escalate allows granting more; by name it covers changes, not a create", async (scene) => {
    const { api: admin, ns, unique } = scene;
    const user = unique("escalator");
    const as = admin.as({ impersonate: user });
    const write = { apiGroups: [api], resources: ["roles"], verbs: ["create", "update", "patch", "get"] };
    const path = `${rbac}/namespaces/${ns}/roles`;
    await grant(
      scene,
      user,
      [write, { apiGroups: [api], resources: ["roles"], verbs: ["escalate"], resourceNames: ["allowed"] }],
      async () => expect((await as.post(`${path}?dryRun=All`, role("Role", "empty", []))).status).toBe(201),
    );
    expect((await as.post(path, role("Role", "allowed", [rule(["get"], ["widgets"])]))).status).toBe(403);
    expect((await as.post(path, role("Role", "allowed", []))).status).toBe(201);
    expect((await as.patch("merge", `${path}/allowed`, { rules: [rule(["*"], ["*"])] })).status).toBe(200);
    await grant(scene, user, [{ apiGroups: [api], resources: ["roles"], verbs: ["escalate"] }], async () =>
      expect((await as.post(path, role("Role", "other", [rule(["get"], ["widgets"])]))).status).toBe(201),
    );
  }),
  row("any change of a role or binding needs its permissions, except those of the garbage collector", async (scene) => {
    const { api: admin, ns, unique } = scene;
    const user = unique("labeller");
    const as = admin.as({ impersonate: user });
    const path = `${rbac}/namespaces/${ns}`;
    await admin.post(`${path}/roles`, role("Role", "strong", [rule(["*"], ["*"])]));
    await admin.post(`${path}/rolebindings`, {
      apiVersion: `${api}/v1`,
      kind: "RoleBinding",
      metadata: { name: "strong" },
      roleRef: { apiGroup: api, kind: "Role", name: "strong" },
      subjects: [{ apiGroup: api, kind: "User", name: "x" }],
    });
    const finalizers = (kind: string) =>
      as.patch("merge", `${path}/${kind}/strong`, { metadata: { finalizers: ["example.com/x"] } });
    await grant(scene, user, [{ apiGroups: [api], resources: ["roles", "rolebindings"], verbs: ["patch"] }], async () =>
      expect((await finalizers("roles")).status).toBe(200),
    );
    expect((await finalizers("rolebindings")).status).toBe(200);
    for (const kind of ["roles", "rolebindings"])
      expect([
        kind,
        (await as.patch("merge", `${path}/${kind}/strong`, { metadata: { labels: { a: "b" } } })).status,
      ]).toEqual([kind, 403]);
    for (const kind of ["roles", "rolebindings"])
      await admin.patch("merge", `${path}/${kind}/strong`, { metadata: { finalizers: null } });
  }),
  row("an aggregation rule needs all permissions", async (scene) => {
    const { api: admin, unique } = scene;
    const user = unique("aggregator");
    const name = unique("aggregate");
    const as = admin.as({ impersonate: user });
    await grant(scene, user, [{ apiGroups: [api], resources: ["clusterroles"], verbs: ["create"] }], async () =>
      expect((await as.post(`${rbac}/clusterroles?dryRun=All`, role("ClusterRole", name, []))).status).toBe(201),
    );
    const { status, body } = await as.post(
      `${rbac}/clusterroles`,
      role("ClusterRole", name, [], {
        root: { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { none: name } }] } },
      }),
    );
    expect([status, body.message]).toEqual([
      403,
      `clusterroles.rbac.authorization.k8s.io "${name}" is forbidden: must have cluster-admin privileges to use the aggregationRule`,
    ]);
  }),
  row("aggregation: several selectors, each rule once, and other writes are overwritten", async (scene) => {
    const { api: admin, unique, eventually } = scene;
    const name = unique("sum");
    const part = (suffix: string, label: string, rules: Json[]) =>
      admin.post(
        `${rbac}/clusterroles`,
        role("ClusterRole", `${name}-${suffix}`, rules, { metadata: { labels: { [label]: name } } }),
      );
    const [get, list] = [rule(["get"], ["widgets"]), rule(["list"], ["widgets"])];
    await part("a", "first", [get, list]);
    await part("b", "second", [get, rule(["watch"], ["widgets"])]);
    await admin.post(
      `${rbac}/clusterroles`,
      role("ClusterRole", name, [], {
        root: {
          aggregationRule: {
            clusterRoleSelectors: [{ matchLabels: { first: name } }, { matchLabels: { second: name } }],
          },
        },
      }),
    );
    const rules = async () => (await admin.get(`${rbac}/clusterroles/${name}`)).body.rules;
    const expected = [get, list, rule(["watch"], ["widgets"])];
    await eventually(async () => expect(await rules()).toEqual(expected));
    await admin.patch("merge", `${rbac}/clusterroles/${name}`, { rules: [rule(["*"], ["*"])] });
    await eventually(async () => expect(await rules()).toEqual(expected));
  }),
  row("a binding to a missing role needs the verb bind, or it is 404", async (scene) => {
    const { api: admin, ns, unique } = scene;
    const user = unique("binder");
    const as = admin.as({ impersonate: user });
    const bind = (to: string, query = "") =>
      as.post(`${rbac}/namespaces/${ns}/rolebindings${query}`, {
        apiVersion: `${api}/v1`,
        kind: "RoleBinding",
        metadata: { name: `to-${to}` },
        roleRef: { apiGroup: api, kind: "Role", name: to },
        subjects: [{ apiGroup: api, kind: "User", name: "x" }],
      });
    await grant(
      scene,
      user,
      [
        { apiGroups: [api], resources: ["rolebindings"], verbs: ["create"] },
        { apiGroups: [api], resources: ["roles"], verbs: ["bind"], resourceNames: ["known"] },
      ],
      async () => expect((await bind("known", "?dryRun=All")).status).toBe(201),
    );
    const { status, body } = await bind("unknown");
    expect([status, body.reason, body.message]).toEqual([
      404,
      "NotFound",
      'rolebindings.rbac.authorization.k8s.io "unknown" not found',
    ]);
  }),
  row("access reviews without a question, with two, or without a user are refused", async ({ api: admin, ns }) => {
    const resourceAttributes = { namespace: ns, verb: "get", group, resource: "widgets" };
    const nonResourceAttributes = { path: "/x", verb: "get" };
    const nobody = cause("spec.user", 'Invalid value: "": at least one of user or group must be specified');
    const nothing = cause(
      "spec.resourceAttributes",
      "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
    );
    const both = cause(
      "spec.nonResourceAttributes",
      'Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes',
    );
    expect(invalid(await ask(admin, "SubjectAccessReview", {}))).toEqual([422, "Invalid", [nothing, nobody]]);
    expect(
      invalid(await ask(admin, "SubjectAccessReview", { user: "u", resourceAttributes, nonResourceAttributes })),
    ).toEqual([422, "Invalid", [both]]);
    expect(invalid(await ask(admin, "SelfSubjectAccessReview", {}))).toEqual([422, "Invalid", [nothing]]);
    expect(invalid(await ask(admin, "LocalSubjectAccessReview", { user: "u", nonResourceAttributes }, ns))).toEqual([
      422,
      "Invalid",
      [
        cause(
          "spec.nonResourceAttributes",
          'Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request',
        ),
      ],
    ]);
    expect(
      invalid(
        await ask(
          admin,
          "LocalSubjectAccessReview",
          { user: "u", resourceAttributes: { ...resourceAttributes, namespace: "other" } },
          ns,
        ),
      ),
    ).toEqual([
      422,
      "Invalid",
      [cause("spec.resourceAttributes.namespace", 'Invalid value: "other": must match metadata.namespace')],
    ]);
  }),
  row(
    "SubjectAccessReview and LocalSubjectAccessReview repeat the question in the answer",
    async ({ api: admin, ns }) => {
      const spec = {
        user: "u",
        groups: ["system:masters"],
        uid: "1",
        extra: { a: ["b"] },
        resourceAttributes: { namespace: ns, verb: "get", resource: "pods", name: "n", version: "v1" },
      };
      expect(withoutMetadata((await ask(admin, "SubjectAccessReview", spec)).body)).toEqual({
        kind: "SubjectAccessReview",
        apiVersion: "authorization.k8s.io/v1",
        spec,
        status: { allowed: true },
      });
      const local = { user: "u", resourceAttributes: { namespace: ns, verb: "get", resource: "pods" } };
      expect(withoutMetadata((await ask(admin, "LocalSubjectAccessReview", local, ns)).body)).toEqual({
        kind: "LocalSubjectAccessReview",
        apiVersion: "authorization.k8s.io/v1",
        spec: local,
        status: { allowed: false },
      });
    },
  ),
  row("SelfSubjectRulesReview: rules of namespace and cluster, and non-resource paths", async (scene) => {
    const { api: admin, ns, unique } = scene;
    const user = unique("ruled");
    const as = admin.as({ impersonate: user });
    const rules = async () => (await ask(as, "SelfSubjectRulesReview", { namespace: ns })).body;
    await grant(
      scene,
      user,
      [rule(["list"], ["widgets"]), { nonResourceURLs: ["/metrics"], verbs: ["get"] }],
      async () => expect(JSON.stringify(await rules())).toContain("/metrics"),
    );
    const { spec, status } = await rules();
    expect([spec, status.incomplete]).toEqual([{}, false]);
    expect(status.resourceRules).toContainEqual({ apiGroups: [group], resources: ["widgets"], verbs: ["list"] });
    expect(status.nonResourceRules).toContainEqual({ nonResourceURLs: ["/metrics"], verbs: ["get"] });
    const { status: code, body } = await ask(as, "SelfSubjectRulesReview", {});
    expect([code, body.message]).toEqual([400, "no namespace on request"]);
  }),
  row("a permission by name does not cover other names, lists or a create", async (scene) => {
    const { api: admin, ns, unique } = scene;
    const user = unique("named");
    const as = admin.as({ impersonate: user });
    for (const name of ["mine", "other"]) await admin.post(widgets(ns), widget(name));
    await grant(
      scene,
      user,
      [rule(["get", "delete", "create", "deletecollection"], ["widgets"], { resourceNames: ["mine"] })],
      async () => expect((await as.get(`${widgets(ns)}/mine`)).status).toBe(200),
    );
    const codes = [
      await as.get(`${widgets(ns)}/other`),
      await as.delete(`${widgets(ns)}/other`),
      await as.post(widgets(ns), widget("mine2")),
      await as.delete(widgets(ns)),
      await as.delete(`${widgets(ns)}/mine`),
    ].map(({ status }) => status);
    expect(codes).toEqual([403, 403, 403, 403, 200]);
  }),
];
