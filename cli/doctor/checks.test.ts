// Each check of the doctor on facts: nothing found where nothing is wrong, one finding for one change. The same on a real kube-apiserver: test/conformance/doctor/.
import { expect, test } from "vitest";
import { listClusterRoles } from "../../crds/role-permissions.ts";
import { listManifests } from "../../crds/manifests.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { CHECK_GROUPS } from "./checks.ts";
import type { Facts, ObjectRow, Readings } from "./facts.ts";

const NOW = Date.parse("2026-11-27T20:00:00Z");
const HOUR = 3_600_000;
const MINUTE = 60_000;
const OLD = NOW - HOUR;
const ofKind = (kind: string): KubeObject[] =>
  listManifests()
    .flatMap(({ objects }) => objects)
    .filter((object) => object.kind === kind);

const row = (kind: string, name: string, more: Partial<ObjectRow> = {}): ObjectRow => ({
  kind,
  resource: `${kind.toLowerCase()}s.cupola.dev`,
  namespace: "acme-dev",
  name,
  uid: `uid-of-${name}`,
  createdAt: OLD,
  finalizers: [],
  ...more,
});
const notReady = (since: number): ObjectRow["ready"] => ({
  status: "False",
  reason: "Crashed",
  message: "it ended",
  since,
});
const ROWS: readonly ObjectRow[] = [
  row("Space", "dev", { spaceNamespace: "acme-dev" }),
  row("App", "shop", { ready: { status: "True", reason: "Ready", message: "", since: OLD } }),
  row("Process", "shop.web"),
  row("LRP", "shop-1", { ownerUid: "uid-of-shop.web", lrp: { class: "deployment", rendering: "3" } }),
  row("Claim", "app-1", { claim: { claimant: { kind: "App", namespace: "acme-dev", name: "shop" }, since: OLD } }),
];
const labels = { "app.kubernetes.io/component": "webhook", "helm.sh/chart": "cupola-0.1.0" };
const pod = {
  metadata: { name: "webhook-1", labels, creationTimestamp: "2026-11-27T19:00:00Z" },
  spec: { containers: [] },
};

/** No operation has rights to compare, so 204 looks at its Job alone. */
const HEALTHY: Facts = {
  now: NOW,
  isBeforeInstallation: false,
  isProbing: true,
  registryProbe: { registryName: "registry.example.org/apps" },
  networkProbe: { isEnforced: true },
  cupVersion: "0.1.0",
  kubernetes: { gitVersion: "v1.34.4", major: 1, minor: 34 },
  clockAheadMs: 600,
  admissionResources: ["validatingadmissionpolicies"],
  missingRights: [],
  ingressClasses: [],
  classes: [],
  gateways: [],
  metricsProblem: undefined,
  definitions: ofKind("CustomResourceDefinition") as unknown as Facts["definitions"],
  clusterRoles: listClusterRoles() as unknown as Facts["clusterRoles"],
  clusterRoleBindings: [],
  policies: ofKind("ValidatingAdmissionPolicy"),
  policyBindings: ofKind("ValidatingAdmissionPolicyBinding"),
  deployments: [
    { metadata: { name: "cupola-webhook", labels }, status: { availableReplicas: 2 } },
  ] as unknown as Facts["deployments"],
  pods: [pod] as unknown as Facts["pods"],
  jobs: [],
  roles: [],
  roleBindings: [],
  replicas: [],
  leases: [{ name: "leader-controllers", holder: "one", isLate: false }],
  webhook: { isTrusted: true, isAnswering: true },
  certificates: [{ secret: "cupola-system/api-tls", endsAt: NOW + 24 * 90 * HOUR }],
  handshake: { host: "api.example.org", problem: undefined, endsAt: NOW + 24 * 90 * HOUR },
  names: [{ name: "api.example.org", leadsTo: ["192.0.2.1"], expected: ["192.0.2.1", "192.0.2.2"] }],
  namespaces: [],
  pullSecrets: ["cupola-system", "acme-dev"],
  gatedPods: [{ namespace: "acme-dev", name: "shop-1", createdAt: NOW - 5_000 }],
  objects: ROWS,
  memoryInUse: new Map(),
};

function codesOf(change: Partial<Facts>): { codes: number[]; text: string } {
  const facts: Facts = { ...HEALTHY, ...change };
  const readings = Object.fromEntries(
    Object.entries(facts).map(([fact, value]) => [fact, () => value]),
  ) as unknown as Readings;
  const found = CHECK_GROUPS.flatMap(({ checks }) =>
    checks.flatMap((check) => check.judge(readings).map((finding) => ({ code: check.code, ...finding }))),
  );
  return {
    codes: [...new Set(found.map(({ code }) => code))],
    text: found.map(({ severity, what, where = [], next }) => [severity, what, ...where, next].join(" | ")).join("\n"),
  };
}
const plus = (...rows: ObjectRow[]): Partial<Facts> => ({ objects: [...ROWS, ...rows] });
const ingress = (parameters: Record<string, string>): Partial<Facts> => ({
  classes: [{ metadata: { name: "ingress" }, spec: { parameters } }] as unknown as Facts["classes"],
});
const endsIn = (days: number): Partial<Facts> => ({
  certificates: [{ secret: "cupola-system/api-tls", endsAt: NOW + 24 * days * HOUR }],
});

test("nothing is found where nothing is wrong", () => expect(codesOf({})).toEqual({ codes: [], text: "" }));

test.each<[code: number, what: string, change: Partial<Facts>, words: string]>([
  [101, "an old Kubernetes", { kubernetes: { gitVersion: "v1.29.0", major: 1, minor: 29 } }, "Kubernetes is v1.29.0"],
  [101, "no admission policies", { admissionResources: [] }, "has no ValidatingAdmissionPolicy"],
  [102, "a clock that is behind", { clockAheadMs: -9_000 }, "differ by 9 s"],
  [
    102,
    "an IngressClass that does not exist",
    ingress({ ingressClassName: "nginx" }),
    "IngressClass nginx does not exist",
  ],
  [102, "no default IngressClass", ingress({}), "no IngressClass is the default"],
  [
    102,
    "a Gateway that is not there",
    { gateways: [{ namespace: "edge", name: "web", problem: "does not exist" }] },
    "Gateway web",
  ],
  [103, "no metrics", { metricsProblem: "is not installed" }, "install metrics-server"],
  [201, "no Deployment", { deployments: [], pods: [], leases: [] }, "no Deployment of the chart"],
  [201, "no policies", { policies: HEALTHY.policies.slice(1) }, "1 object of the chart is not"],
  [303, "no leader", { leases: [{ name: "leader-controllers", holder: "", isLate: false }] }, "nobody holds"],
  [304, "an unknown authority of the webhook", { webhook: { isTrusted: false, isAnswering: true } }, "does not trust"],
  [305, "a certificate that has ended", endsIn(-1), "problem | the certificate of Secret api-tls has ended"],
  [305, "a certificate that ends in 20 days", endsIn(20.5), "note | the certificate of Secret api-tls ends in 20 days"],
  [
    306,
    "a name that leads elsewhere",
    { names: [{ name: "a.b", leadsTo: ["192.0.2.9"], expected: ["192.0.2.1"] }] },
    "a.b leads to 192.0.2.9, not to 192.0.2.1",
  ],
  [
    401,
    "a registry that does not delete",
    { registryProbe: { registryName: "r/apps", registry: { step: "a deletion", message: "405" } } },
    "Registry r/apps: a deletion failed: 405",
  ],
  [
    402,
    "a builder image that is away, by the probe",
    { registryProbe: { registryName: "r/apps", builderImage: "there is no image", builderImageName: "r/builder:1" } },
    "there is no image | BackendClass cnb | Image r/builder:1",
  ],
  [
    402,
    "a builder image that is away, by the class's condition",
    plus(
      row("BackendClass", "cnb", { ready: { ...notReady(OLD), reason: "BuilderImageUnusable" } as ObjectRow["ready"] }),
    ),
    "the builder image cannot be used: it ended",
  ],
  [602, "a network without policies", { networkProbe: { isEnforced: false } }, "does not enforce NetworkPolicies"],
  [402, "a space without the pull Secret", { pullSecrets: ["cupola-system"] }, "1 space cannot pull images"],
  [
    501,
    "a pod that waits",
    { gatedPods: [{ namespace: "acme-dev", name: "shop-1", createdAt: NOW - MINUTE }] },
    "Pod acme-dev/shop-1",
  ],
  [502, "an LRP of nobody", plus(row("LRP", "lost", { ownerUid: "nobody" })), "LRP acme-dev/lost"],
  [
    503,
    "an end that does not come",
    plus(row("App", "stuck", { deletedAt: OLD, finalizers: ["a/b"] })),
    "ending for 60 min: a/b holds it",
  ],
  [
    504,
    "two apps that crash",
    plus(row("App", "a", { ready: notReady(OLD) }), row("App", "b", { ready: notReady(OLD - 1) })),
    "2 Apps are not ready (Crashed) | App acme-dev/b | App acme-dev/a",
  ],
  [
    505,
    "a rendering of another version",
    plus(row("LRP", "old", { ownerUid: "uid-of-shop.web", lrp: { class: "deployment", rendering: "0" } })),
    "rendering 0",
  ],
  [
    506,
    "a broker that is away",
    plus(row("ServiceBroker", "db", { ready: notReady(OLD) })),
    "the broker db does not serve",
  ],
])("%i: %s", (code, _what, change, words) => {
  const { codes, text } = codesOf(change);
  expect([codes, text]).toEqual([[code], expect.stringContaining(words)]);
});

test.each<[what: string, change: Partial<Facts>]>([
  ["no registry's Secret at all", { pullSecrets: [] }],
  ["an app that has just crashed", plus(row("App", "new", { ready: notReady(NOW - 10_000) }))],
  ["an app that is ending", plus(row("App", "ending", { ready: notReady(OLD), deletedAt: NOW - MINUTE }))],
  ["an LRP whose Process is not read yet", plus(row("LRP", "new", { ownerUid: "later", createdAt: NOW - 1_000 }))],
  [
    "a rendering of another builder of workloads",
    plus(row("LRP", "other", { ownerUid: "uid-of-shop.web", lrp: { class: "knative", rendering: "x" } })),
  ],
  [
    "a name whose address the cluster does not know",
    { names: [{ name: "a.b", leadsTo: ["192.0.2.9"], expected: undefined }] },
  ],
  ["no webhook", { webhook: undefined }],
  ["no probe", { isProbing: false, registryProbe: undefined, networkProbe: undefined }],
])("%s is nothing to tell", (_what, change) => expect(codesOf(change)).toEqual({ codes: [], text: "" }));
