// All of deploy/ is accepted: every definition is served, every policy compiles, on a real API server and on ours.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parseAllDocuments } from "yaml";
import { DEFINITIONS } from "../../../crds/definitions.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { connect, type Api, type Json } from "../kubernetes/api.ts";
import { startEmbedded } from "../embedded-server.ts";
import type { Server } from "../kubernetes/suite.ts";

const deploy = fileURLToPath(new URL("../../../deploy", import.meta.url));
const objects: Json[] = globSync(
  [
    "{rbac,settings}/*.yaml",
    "helm/cupola/files/{crds,settings,policies}/*.yaml",
    "helm/cupola/files/rbac/impersonator.yaml",
  ],
  { cwd: deploy },
)
  .flatMap((file) => parseAllDocuments(readFileSync(join(deploy, file), "utf8")))
  .map((document) => document.toJS() as Json)
  .sort((a, b) => rank(a) - rank(b));

// Definitions first: policies and roles speak of their kinds. Policies last: they read settings.
function rank(object: Json): number {
  if (object.kind.startsWith("ValidatingAdmissionPolicy")) return 2;
  return ["Namespace", "CustomResourceDefinition"].includes(object.kind) ? 0 : 1;
}

const groupsOf: Record<string, string> = {
  Namespace: "/api/v1/namespaces",
  CustomResourceDefinition: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
  ClusterRole: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  ClusterRoleBinding: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
  ValidatingAdmissionPolicy: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
  ValidatingAdmissionPolicyBinding: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
};

function pathOf({ kind, apiVersion, metadata }: Json): string {
  const definition = DEFINITIONS.find((entry) => entry.kind === kind && apiVersion.startsWith(`${entry.group}/`));
  const known =
    groupsOf[kind] ??
    (definition &&
      `/apis/${apiVersion}${metadata.namespace ? `/namespaces/${metadata.namespace}` : ""}/${definition.plural}`);
  const inNamespace: Record<string, string> = { Role: "roles", RoleBinding: "rolebindings" };
  if (kind === "ServiceAccount") return `/api/v1/namespaces/${metadata.namespace}/serviceaccounts/${metadata.name}`;
  const path =
    known ?? (inNamespace[kind] && `/apis/${apiVersion}/namespaces/${metadata.namespace}/${inNamespace[kind]}`);
  if (!path) throw new Error(`deploy/ holds a ${kind}; add its path to this test`);
  return `${path}/${metadata.name}`;
}

const reason = whyNoControlPlane();
const servers: [string, () => Promise<Server>][] = [
  ...(reason ? [] : [["kube-apiserver", startControlPlane] as [string, () => Promise<Server>]]),
  ["embedded", startEmbedded],
];
if (reason) console.log(`deploy/ on kube-apiserver: not run, ${reason}`);

describe.each(servers)("deploy/ on %s", (name, start) => {
  let server: Server;
  let connection: ReturnType<typeof connect>;
  let api: Api;

  beforeAll(async () => {
    server = await start();
    connection = connect(server);
    api = connection.api;
  }, 120_000);
  afterAll(async () => {
    await connection?.close();
    await server?.stop();
  });

  const apply = (object: Json) =>
    api.patch("apply", `${pathOf(object)}?fieldManager=install&fieldValidation=Strict`, object);

  test("every object is accepted, and a second apply writes nothing", async () => {
    const versions = new Map<string, string>();
    for (const object of objects) {
      // A kind is served a moment after its definition is accepted.
      const answer = await vi.waitFor(
        async () => {
          const tried = await apply(object);
          expect(tried.status, pathOf(object)).not.toBe(404);
          return tried;
        },
        { timeout: 15_000, interval: 50 },
      );
      expect([pathOf(object), answer.status, answer.status < 300 ? "" : answer.text]).toEqual([
        pathOf(object),
        expect.toBeOneOf([200, 201]),
        "",
      ]);
    }
    // Conditions of definitions and type checks of policies change the version; spec and owners do not change it a second time.
    for (const object of objects)
      versions.set(pathOf(object), (await api.get(pathOf(object))).body.metadata.generation ?? 0);
    for (const object of objects)
      expect([pathOf(object), (await apply(object)).body.metadata.generation ?? 0]).toEqual([
        pathOf(object),
        versions.get(pathOf(object)),
      ]);
  });

  test("an operator's changes of settings survive the next apply", async () => {
    const settings = objects.filter((object) => ["FeatureFlag", "BackendClass"].includes(object.kind));
    expect(settings.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual(
      expect.arrayContaining(["BackendClass deployment", "BackendClass ingress", "FeatureFlag diego-docker"]),
    );
    for (const object of settings) {
      const change = object.kind === "FeatureFlag" ? { enabled: false } : { default: true };
      const changed = await api.patch("merge", `${pathOf(object)}?fieldManager=operator`, { spec: change });
      expect([pathOf(object), changed.status]).toEqual([pathOf(object), 200]);
      const applied = await apply(object);
      expect([pathOf(object), applied.status, applied.body.spec]).toEqual([
        pathOf(object),
        200,
        expect.objectContaining(change),
      ]);
    }
  });

  test("every kind is established, its schema structural, and listed", async () => {
    for (const definition of DEFINITIONS) {
      const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${definition.plural}.${definition.group}`;
      await vi.waitFor(
        async () => {
          const conditions: Json[] = (await api.get(path)).body.status?.conditions ?? [];
          expect([definition.kind, conditions.find((entry) => entry.type === "Established")?.status]).toEqual([
            definition.kind,
            "True",
          ]);
          expect(conditions.filter((entry) => entry.type === "NonStructuralSchema")).toEqual([]);
        },
        { timeout: 15_000, interval: 100 },
      );
      await vi.waitFor(
        async () =>
          expect((await api.get(`/apis/${definition.group}/${definition.version}/${definition.plural}`)).status).toBe(
            200,
          ),
        { timeout: 15_000, interval: 100 },
      );
    }
  });

  test.each([
    ["an empty spec", { spec: {} }],
    ["no spec", {}],
  ])("an App with %s can be applied twice, and is Stopped", async (what, rest) => {
    const path = `/apis/cupola.dev/v1alpha1/namespaces/default/apps/${what.replaceAll(" ", "-")}`;
    const app = {
      apiVersion: "cupola.dev/v1alpha1",
      kind: "App",
      metadata: { name: what.replaceAll(" ", "-"), namespace: "default" },
      ...rest,
    };
    for (const _time of [1, 2]) {
      const answer = await api.patch("apply", `${path}?fieldManager=person`, app);
      expect([answer.status < 300, answer.text]).toEqual([true, answer.text]);
      expect(answer.body.spec).toMatchObject({ state: "Stopped", env: [], lifecycle: { type: "buildpack" } });
    }
  });

  const named = (kind: string, object: string): Json => ({
    kind,
    metadata: { name: object, ...(kind !== "Org" && { namespace: "default" }) },
    spec: {},
  });
  const at = (path: string): Json => ({
    kind: "Route",
    metadata: { name: "at", namespace: "default" },
    spec: { path, domainRef: { name: "apps.example" } },
  });
  const called = (kind: string, name: string): Json => {
    const object = named(kind, "called");
    return { ...object, spec: { name } };
  };
  test.each<[string, Json, number]>([
    ["an App called My App ☕", called("App", "My App ☕"), 201],
    ["an App with a trailing blank in its name", called("App", "app "), 422],
    ["an App with a zero-width space in its name", called("App", "a\u200bpp"), 422],
    ["an App with an invisible letter in its name", called("App", "app\u3164"), 422],
    ["an Org with a leading blank in its name", called("Org", "\u00a0acme"), 422],
    ["a Space with a newline in its name", called("Space", "a\nb"), 422],
    ["a Stack with a direction mark in its name", called("Stack", "\u202ehost"), 422],
    ["an Org", named("Org", "acme"), 201],
    ["an Org with a dot in its name", named("Org", "acme.dev"), 422],
    ["a Space", named("Space", "dev"), 201],
    ["a Space with a dot in its name", named("Space", "dev.one"), 422],
    ["a Route of all paths", at(""), 201],
    ["a Route of a path", at("/Some/path-1/%20/~x"), 201],
    ["a Route of exactly /", at("/"), 422],
    ["a Route of a path without its slash", at("x"), 422],
    ["a Route of a path with a query", at("/x?y"), 422],
    ["a Route of a path with a blank", at("/x y"), 422],
    ["a Route of a path with a control character", at("/x\u0001"), 422],
    ["a Route of a path that is too long", at(`/${"x".repeat(128)}`), 422],
  ])("%s, by the schema", async (_what, object, status) => {
    const whole = { apiVersion: "cupola.dev/v1alpha1", ...object };
    const answer = await api.post(`${pathOf(whole).replace(/[/][^/]+$/, "")}?dryRun=All`, whole);
    expect([answer.status, answer.text]).toEqual([status, answer.text]);
  });

  // Only the real server's controller checks the types of expressions.
  test.skipIf(name === "embedded")("no expression of a policy has a type warning", async () => {
    const policies = objects.filter((object) => object.kind === "ValidatingAdmissionPolicy");
    expect(policies.length).toBeGreaterThan(0);
    for (const policy of policies) {
      const status = await vi.waitFor(
        async () => {
          const { body } = await api.get(pathOf(policy));
          expect(body.status?.typeChecking, policy.metadata.name).toBeDefined();
          return body.status;
        },
        { timeout: 20_000, interval: 200 },
      );
      expect([policy.metadata.name, status.typeChecking.expressionWarnings ?? []]).toEqual([policy.metadata.name, []]);
    }
  });
});
