// Rules of built-in kinds, by what they say. Each row was seen on a real kube-apiserver.
import { expect, test } from "vitest";
import type { KubeObject } from "../../../kube/api/object.ts";
import { applyBuiltinDefaults } from "./defaults.ts";
import { validateBuiltin } from "./rules.ts";

const faults = (kind: string, more: object, old?: object, subresource = ""): string[] => {
  const make = (content: object): KubeObject => {
    const object = { apiVersion: "v1", kind, metadata: { name: "a" }, ...structuredClone(content) } as KubeObject;
    applyBuiltinDefaults(object);
    return object;
  };
  return validateBuiltin(make(more), old && make(old), subresource).map(
    ({ field, message }) => `${field}: ${message.replace(/ \(e\.g\..*/, "")}`,
  );
};
const pods = (pod: object, more: object = {}) => ({
  spec: {
    selector: { matchLabels: { a: "b" } },
    template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }], ...pod } },
    ...more,
  },
});
const backend = { service: { name: "s", port: { number: 80 } } };
const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";

test.each([
  ["a good one", pods({}), []],
  [
    "a selector that chooses nothing of its own",
    pods({}, { selector: { matchLabels: { a: "c" } } }),
    ['spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`'],
  ],
  [
    "an empty selector",
    pods({}, { selector: {} }),
    ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
  ],
  [
    "Recreate with numbers",
    pods({}, { strategy: { type: "Recreate", rollingUpdate: {} } }),
    ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
  ],
  [
    "an update that can never go on",
    pods({}, { strategy: { rollingUpdate: { maxSurge: "0%", maxUnavailable: 0 } } }),
    ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
  ],
  [
    "a deadline before readiness",
    pods({}, { minReadySeconds: 600 }),
    ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
  ],
  [
    "a container without an image, twice",
    pods({ containers: [{ name: "c" }, { name: "c", image: "i" }] }),
    [
      "spec.template.spec.containers[0].image: Required value",
      'spec.template.spec.containers[1].name: Duplicate value: "c"',
    ],
  ],
  [
    "a mount of what is not there",
    pods({ containers: [{ name: "c", image: "i", volumeMounts: [{ name: "v", mountPath: "/v" }] }] }),
    ['spec.template.spec.containers[0].volumeMounts[0].name: Not found: "v"'],
  ],
  [
    "a probe of an init container",
    pods({ initContainers: [{ name: "d", image: "i", readinessProbe: { tcpSocket: { port: 1 } } }] }),
    [
      "spec.template.spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
    ],
  ],
  [
    "two handlers",
    pods({
      containers: [{ name: "c", image: "i", readinessProbe: { httpGet: { port: 80 }, tcpSocket: { port: 80 } } }],
    }),
    ["spec.template.spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type"],
  ],
  [
    "a variable from nowhere",
    pods({ containers: [{ name: "c", image: "i", env: [{ name: "A", valueFrom: {} }] }] }),
    [
      'spec.template.spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`',
    ],
  ],
])("Deployment: %s", (_what, object, expected) => expect(faults("Deployment", object)).toEqual(expected));

test("a Deployment's status counts no more than there is", () => {
  expect(faults("Deployment", { ...pods({}), status: { replicas: 1, readyReplicas: 2 } }, pods({}), "status")).toEqual([
    "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
  ]);
});

test.each([
  ["a good one", { ports: [{ port: 80 }] }, []],
  ["another name without the name", { type: "ExternalName" }, ["spec.externalName: Required value"]],
  [
    "two ports of one name",
    {
      ports: [
        { port: 80, name: "a" },
        { port: 81, name: "a" },
      ],
    },
    ['spec.ports[1].name: Duplicate value: "a"'],
  ],
  [
    "a name that is none",
    { ports: [{ port: 80, name: "Bad_" }] },
    [`spec.ports[0].name: Invalid value: "Bad_": ${LABEL}`],
  ],
  [
    "a target out of range",
    { ports: [{ port: 80, targetPort: 70_000 }] },
    ["spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive"],
  ],
  [
    "a port of nodes that has none",
    { ports: [{ port: 80, nodePort: 30_000 }] },
    ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
  ],
])("Service: %s", (_what, spec, expected) => expect(faults("Service", { spec })).toEqual(expected));

test.each([
  ["a good one", { defaultBackend: backend }, []],
  ["nothing to route", {}, ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]],
  [
    "a relative path",
    { rules: [{ http: { paths: [{ path: "x", pathType: "Prefix", backend }] } }] },
    ['spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path'],
  ],
  [
    "no type of path",
    { rules: [{ http: { paths: [{ path: "/", backend }] } }] },
    ["spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"],
  ],
  [
    "an address for a host",
    { rules: [{ host: "1.2.3.4" }] },
    ['spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address'],
  ],
  [
    "two ports in one",
    { defaultBackend: { service: { name: "s", port: { number: 80, name: "http" } } } },
    ['spec.defaultBackend: Invalid value: "": cannot set both port name & port number'],
  ],
])("Ingress: %s", (_what, spec, expected) => expect(faults("Ingress", { spec })).toEqual(expected));

test.each([
  ["good ones", [{ ip: "010.1.1.1" }, { ip: "::ffff:1.2.3.4" }, { hostname: "a.b" }, {}], []],
  [
    "a name that is none",
    [{ ip: "10.1.1.1" }, { hostname: "Not OK!" }],
    [`status.loadBalancer.ingress[1].hostname: Invalid value: "Not OK!": ${SUBDOMAIN}`],
  ],
  [
    "an address that is none, and one for a name",
    [{ ip: "1.2.3", hostname: "10.1.1.1" }],
    [
      'status.loadBalancer.ingress[0].ip: Invalid value: "1.2.3": must be a valid IP address,',
      'status.loadBalancer.ingress[0].hostname: Invalid value: "10.1.1.1": must be a DNS name, not an IP address',
    ],
  ],
])("what load balancers report: %s", (_what, ingress, expected) => {
  const status = { loadBalancer: { ingress } };
  expect(faults("Ingress", { status }, {}, "status")).toEqual(expected);
  expect(faults("Service", { spec: { type: "LoadBalancer" }, status }, {}, "status")).toEqual(expected);
});

test.each([
  [
    "of a Service without any",
    {},
    [{ ip: "10.1.1.1" }],
    ["status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"],
  ],
  [
    "how packets come",
    { type: "LoadBalancer" },
    [
      { hostname: "a", ipMode: "VIP" },
      { ip: "1.1.1.1", ipMode: "X" },
      { ip: "1.1.1.1", ipMode: "Proxy" },
    ],
    [
      "status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when `ip` is not set",
      'status.loadBalancer.ingress[1].ipMode: Unsupported value: "X": supported values: "Proxy", "VIP"',
    ],
  ],
])("what load balancers report: %s", (_what, spec, ingress, expected) =>
  expect(faults("Service", { spec, status: { loadBalancer: { ingress } } }, {}, "status")).toEqual(expected),
);

test("a Lease of no time is refused", () => {
  expect(faults("Lease", { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } })).toEqual([
    "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
    "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
  ]);
});

test("a binding keeps its role, and knows which group a subject is of", () => {
  const roleRef = { kind: "Role", name: "r" };
  expect(
    faults(
      "RoleBinding",
      {
        roleRef: { ...roleRef, name: "s" },
        subjects: [{ kind: "ServiceAccount", name: "a", apiGroup: "rbac.authorization.k8s.io" }],
      },
      { roleRef },
    ),
  ).toEqual([
    'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"s"}: cannot change roleRef',
    'subjects[0].apiGroup: Unsupported value: "rbac.authorization.k8s.io": supported values: ""',
  ]);
});

test("a Secret of registry credentials is JSON, and is not quoted when it is not", () => {
  const found = faults("Secret", {
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from("hunter2").toString("base64") },
  });
  expect(found).toEqual([
    expect.stringContaining('data[.dockerconfigjson]: Invalid value: "<secret contents redacted>"'),
  ]);
  expect(found.join()).not.toContain("hunter2");
});
