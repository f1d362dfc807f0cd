// Logging in, being asked, granting: end to end over a store in memory.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeObject } from "../../../kube/api/object.ts";
import { issueCertificate, makeAuthority, type KeyPair } from "../../../kube/server/pki.ts";
import type { AdmissionRequest, AttributesRecord, Auth, Credentials, UserInfo } from "../types.ts";
import { createMemoryStore, type MemoryStore } from "../testing/memory-store.ts";
import { StatusError } from "../status.ts";
import { createAuth } from "./auth.ts";
import { refusalOf } from "./refusal.ts";

const rbac = "rbac.authorization.k8s.io";
const issuer = "https://kubernetes.default.svc";
let dir: string;
let authority: KeyPair;
let store: MemoryStore;
let auth: Auth;
let now = Date.parse("2030-01-01T00:00:00Z");

const admin: UserInfo = { name: "root", groups: ["system:masters"] };
const tokens = new Map<string, UserInfo>([
  ["admin-token", admin],
  ["alice-token", { name: "alice", groups: ["dev"] }],
]);

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "auth-"));
  authority = await makeAuthority("test", { from: new Date(now), days: 365 });
  store = createMemoryStore();
  store.put("", "serviceaccounts", {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "bot", namespace: "ns", uid: "u1" },
  });
  auth = await createAuth({
    reader: store.reader,
    writer: store.writer,
    dir,
    clientCa: authority.cert,
    issuer,
    tokens,
    now: () => now,
  });
  await auth.bootstrap();
});
afterAll(async () => {
  auth.stop();
  await rm(dir, { recursive: true });
});

const login = async (credentials: Partial<Credentials>) => await auth.authenticate({ impersonate: {}, ...credentials });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const ask = (user: UserInfo, verb: string, resource: string, more: Partial<AttributesRecord> = {}) =>
  auth.authorize({
    user,
    verb,
    group: "",
    version: "v1",
    resource,
    subresource: "",
    namespace: "ns",
    name: "",
    ...more,
  }).allowed;

async function refused(act: () => unknown): Promise<StatusError["body"]> {
  try {
    await act();
  } catch (error) {
    if (error instanceof StatusError) return error.body;
    throw error;
  }
  throw new Error("was not refused");
}

function bind(name: string, role: string, subject: object, namespace?: string): void {
  store.put(rbac, namespace ? "rolebindings" : "clusterrolebindings", {
    apiVersion: `${rbac}/v1`,
    kind: namespace ? "RoleBinding" : "ClusterRoleBinding",
    metadata: { name, ...(namespace && { namespace }) },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: role },
    subjects: [subject],
  } as KubeObject);
}

async function review(kind: string, user: UserInfo, spec: object, namespace = ""): Promise<Record<string, unknown>> {
  const resource = auth.virtualResources.find((one) => one.gvk.kind === kind);
  const body = { apiVersion: "x/v1", kind, metadata: {}, spec } as unknown as KubeObject;
  const answer = await resource?.create({ user, namespace, name: "bot", body, dryRun: false });
  return answer?.["status"] as Record<string, unknown>;
}

describe("logging in", () => {
  it("nobody", async () => {
    expect(await login({})).toEqual({ name: "system:anonymous", groups: ["system:unauthenticated"] });
    expect((await login({ authorization: "Basic eDp5" })).name).toBe("system:anonymous");
  });
  it("with a static token", async () => {
    const alice = await login(bearer("alice-token"));
    expect(alice).toEqual({ name: "alice", groups: ["dev", "system:authenticated"] });
    expect(await login(bearer("alice-token"))).toBe(alice);
  });
  it("with a wrong token", async () => {
    expect(await refused(() => login(bearer("nonsense")))).toMatchObject({ code: 401, reason: "Unauthorized" });
  });
  it("with a certificate of the authority, while it counts", async () => {
    const pair = await issueCertificate(
      authority,
      { commonName: "bob", organizations: ["dev", "ops"] },
      { from: new Date(now), days: 1 },
    );
    const clientCertificate = new Uint8Array(new X509Certificate(pair.cert).raw);
    expect(await login({ clientCertificate })).toEqual({ name: "bob", groups: ["dev", "ops", "system:authenticated"] });
    now += 2 * 86_400_000;
    expect((await refused(() => login({ clientCertificate }))).code).toBe(401);
    now -= 2 * 86_400_000;
  });
  it("with a certificate of another authority", async () => {
    const other = await makeAuthority("test", { from: new Date(now) });
    const pair = await issueCertificate(other, { commonName: "bob" }, { from: new Date(now) });
    expect(
      (await refused(() => login({ clientCertificate: new Uint8Array(new X509Certificate(pair.cert).raw) }))).code,
    ).toBe(401);
  });
});

describe("service account tokens", () => {
  it("log in until they end or the account goes", async () => {
    const { token, expirationTimestamp } = (await review("TokenRequest", admin, { expirationSeconds: 600 }, "ns")) as {
      token: string;
      expirationTimestamp: string;
    };
    expect(expirationTimestamp).toBe("2030-01-01T00:10:00Z");
    const user = await login(bearer(token));
    expect(user).toMatchObject({
      name: "system:serviceaccount:ns:bot",
      uid: "u1",
      groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
    });
    const tampered = token.slice(0, -4) + (token.endsWith("AAAA") ? "BBBB" : "AAAA");
    expect((await refused(() => login(bearer(tampered)))).code).toBe(401);
    now += 601_000;
    expect((await refused(() => login(bearer(token)))).code).toBe(401);
    now -= 601_000;
    store.put("", "serviceaccounts", {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "bot", namespace: "ns", uid: "u2" },
    });
    expect((await refused(() => login(bearer(token)))).code).toBe(401);
  });
  it("are for their audience only", async () => {
    const { token } = (await review("TokenRequest", admin, { audiences: ["vault"] }, "ns")) as { token: string };
    expect((await refused(() => login(bearer(token)))).code).toBe(401);
    expect(await review("TokenReview", admin, { token, audiences: ["vault"] })).toMatchObject({
      authenticated: true,
      audiences: ["vault"],
      user: { username: "system:serviceaccount:ns:bot" },
    });
  });
  it("live ten minutes at least", async () => {
    expect(await refused(() => review("TokenRequest", admin, { expirationSeconds: 10 }, "ns"))).toMatchObject({
      code: 422,
      message: expect.stringContaining("may not specify a duration less than 10 minutes") as unknown,
    });
  });
});

describe("rights", () => {
  it("masters may do anything, others what RBAC says", async () => {
    const alice = await login(bearer("alice-token"));
    expect(ask(await login(bearer("admin-token")), "delete", "anything")).toBe(true);
    expect(ask(alice, "get", "pods")).toBe(false);
    bind("alice-view", "view", { kind: "User", name: "alice" }, "ns");
    expect(ask(alice, "get", "pods")).toBe(true);
    expect(ask(alice, "get", "secrets")).toBe(false);
    expect(ask(alice, "get", "pods", { namespace: "other" })).toBe(false);
  });
  it("anybody sees health and version, the rest of discovery is for the authenticated", async () => {
    const path = (user: UserInfo, at: string) =>
      auth.authorize({
        user,
        verb: "get",
        group: "",
        version: "",
        resource: "",
        subresource: "",
        namespace: "",
        name: "",
        path: at,
      }).allowed;
    const nobody = await login({});
    expect([path(nobody, "/version"), path(nobody, "/readyz"), path(nobody, "/apis")]).toEqual([true, true, false]);
    expect(path(await login(bearer("alice-token")), "/apis/apps/v1")).toBe(true);
  });
  it("says no as kube-apiserver does", () => {
    const on = {
      user: { name: "u", groups: [] },
      verb: "get",
      group: "",
      version: "v1",
      resource: "pods",
      subresource: "",
      namespace: "n",
      name: "x",
    };
    expect(refusalOf(on, "").body).toMatchObject({
      code: 403,
      reason: "Forbidden",
      message: 'pods "x" is forbidden: User "u" cannot get resource "pods" in API group "" in the namespace "n"',
      details: { name: "x", kind: "pods" },
    });
    expect(
      refusalOf({ ...on, group: "apps", resource: "deployments", subresource: "scale", namespace: "", name: "" }, "")
        .body.message,
    ).toBe(
      'deployments.apps is forbidden: User "u" cannot get resource "deployments/scale" in API group "apps" at the cluster scope',
    );
    expect(refusalOf({ ...on, path: "/metrics" }, "").body.message).toBe(
      'forbidden: User "u" cannot get path "/metrics"',
    );
  });
  it("aggregates roles by label, again when one changes", async () => {
    const edit = () => store.reader.find(rbac, "clusterroles", "", "edit")?.["rules"] as unknown[];
    const before = edit().length;
    expect(before).toBeGreaterThan(10);
    store.put(rbac, "clusterroles", {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRole",
      metadata: { name: "things", labels: { [`${rbac}/aggregate-to-view`]: "true" } },
      rules: [{ verbs: ["get"], apiGroups: ["x"], resources: ["things"] }],
    });
    await expect.poll(() => edit().length).toBe(before + 1);
    const writes = store.writes();
    await auth.bootstrap();
    expect(store.writes()).toBe(writes);
  });
});

describe("impersonation", () => {
  it("needs the verb for every part", async () => {
    const asBob = {
      ...bearer("alice-token"),
      impersonate: { "impersonate-user": ["bob"], "impersonate-group": ["ops"] },
    };
    expect(await refused(() => login(asBob))).toMatchObject({
      code: 403,
      message:
        'users "bob" is forbidden: User "alice" cannot impersonate resource "users" in API group "" at the cluster scope',
    });
    store.put(rbac, "clusterroles", {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRole",
      metadata: { name: "imp" },
      rules: [{ verbs: ["impersonate"], apiGroups: [""], resources: ["users"], resourceNames: ["bob"] }],
    });
    bind("imp", "imp", { kind: "User", name: "alice" });
    expect((await refused(() => login(asBob))).message).toContain('groups "ops" is forbidden');
    expect(await login({ ...bearer("alice-token"), impersonate: { "impersonate-user": ["bob"] } })).toEqual({
      name: "bob",
      groups: ["system:authenticated"],
    });
  });
  it("of a service account gives its groups", async () => {
    const user = await login({
      ...bearer("admin-token"),
      impersonate: { "impersonate-user": ["system:serviceaccount:ns:bot"], "impersonate-extra-a%2fb": ["c"] },
    });
    expect(user).toEqual({
      name: "system:serviceaccount:ns:bot",
      groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
      extra: { "a/b": ["c"] },
    });
  });
});

describe("reviews", () => {
  it("answer what the authorizer would", async () => {
    const alice = await login(bearer("alice-token"));
    const spec = { resourceAttributes: { verb: "get", resource: "pods", namespace: "ns" } };
    expect(await review("SelfSubjectAccessReview", alice, spec)).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "alice-view/ns" of ClusterRole "view" to User "alice"',
    });
    expect(await review("SubjectAccessReview", admin, { ...spec, user: "carol" })).toEqual({ allowed: false });
    expect(await review("LocalSubjectAccessReview", admin, { ...spec, user: "alice" }, "ns")).toMatchObject({
      allowed: true,
    });
    expect(await review("SelfSubjectReview", alice, {})).toEqual({
      userInfo: { username: "alice", groups: ["dev", "system:authenticated"] },
    });
    expect(await review("TokenReview", admin, { token: "alice-token" })).toMatchObject({
      authenticated: true,
      user: { username: "alice" },
      audiences: [issuer],
    });
    expect(await review("TokenReview", admin, { token: "nonsense" })).toMatchObject({ error: "invalid bearer token" });
    const rules = (await review("SelfSubjectRulesReview", alice, { namespace: "ns" })) as {
      resourceRules: { resources: string[] }[];
      incomplete: boolean;
    };
    expect(rules.incomplete).toBe(false);
    expect(rules.resourceRules.some((rule) => rule.resources.includes("pods"))).toBe(true);
  });
  it("refuse what makes no sense", async () => {
    expect((await refused(() => review("SubjectAccessReview", admin, { resourceAttributes: {} }))).code).toBe(422);
    expect((await refused(() => review("SelfSubjectAccessReview", admin, {}))).code).toBe(422);
    expect((await refused(() => review("SelfSubjectRulesReview", admin, {}))).code).toBe(400);
  });
});

function write(
  user: UserInfo,
  resource: string,
  object: object,
  more: Partial<AdmissionRequest> = {},
): AdmissionRequest {
  const namespace = resource.startsWith("cluster") ? "" : "ns";
  const full = { apiVersion: `${rbac}/v1`, kind: "X", ...object } as KubeObject;
  return {
    operation: "CREATE",
    user,
    gvr: { group: rbac, version: "v1", resource },
    gvk: { group: rbac, version: "v1", kind: "X" },
    subresource: "",
    namespace,
    name: full.metadata.name,
    object: full,
    dryRun: false,
    ...more,
  };
}

describe("granting", () => {
  const secrets = { verbs: ["get", "list"], apiGroups: [""], resources: ["secrets"] };
  it("is limited to what one holds", async () => {
    const alice = await login(bearer("alice-token"));
    const role = { metadata: { name: "r", namespace: "ns" }, rules: [secrets] };
    expect(await refused(() => auth.checkRbacWrite(write(alice, "roles", role)))).toMatchObject({
      code: 403,
      message:
        'roles.rbac.authorization.k8s.io "r" is forbidden: user "alice" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
    });
    auth.checkRbacWrite(
      write(alice, "roles", { ...role, rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }] }),
    );
    auth.checkRbacWrite(write(alice, "roles", role, { operation: "UPDATE", oldObject: role as unknown as KubeObject }));
    auth.checkRbacWrite(write({ name: "root", groups: ["system:masters"] }, "roles", role));
  });
  it("of a role needs its rules or `bind`", async () => {
    const alice = await login(bearer("alice-token"));
    const binding = (name: string) => ({
      metadata: { name: "b", namespace: "ns" },
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
      subjects: [{ kind: "User", name: "bob" }],
    });
    auth.checkRbacWrite(write(alice, "rolebindings", binding("view")));
    expect((await refused(() => auth.checkRbacWrite(write(alice, "rolebindings", binding("edit"))))).message).toContain(
      "is attempting to grant RBAC permissions not currently held",
    );
    expect(await refused(() => auth.checkRbacWrite(write(alice, "rolebindings", binding("zzz"))))).toMatchObject({
      code: 404,
      message: 'rolebindings.rbac.authorization.k8s.io "zzz" not found',
    });
    store.put(rbac, "clusterroles", {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRole",
      metadata: { name: "binder" },
      rules: [{ verbs: ["bind"], apiGroups: [rbac], resources: ["clusterroles"], resourceNames: ["edit"] }],
    });
    bind("binder", "binder", { kind: "User", name: "alice" }, "ns");
    auth.checkRbacWrite(write(alice, "rolebindings", binding("edit")));
    expect((await refused(() => auth.checkRbacWrite(write(alice, "rolebindings", binding("admin"))))).code).toBe(403);
  });
  it("by aggregation needs everything", async () => {
    const alice = await login(bearer("alice-token"));
    const role = {
      metadata: { name: "agg" },
      rules: [],
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] },
    };
    expect((await refused(() => auth.checkRbacWrite(write(alice, "clusterroles", role)))).message).toContain(
      "must have cluster-admin privileges to use the aggregationRule",
    );
  });
});
