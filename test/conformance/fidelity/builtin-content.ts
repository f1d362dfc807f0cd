// Random contents of built-in kinds: plausible ones, with the corners that clients meet.
import type { Json } from "../kubernetes/api.ts";
import type { Random } from "./random.ts";

type Content = (random: Random) => Json;

/** The fields that a coin chose. */
function chosen(random: Random, probability: number, fields: Record<string, () => Json>): Json {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(() => random.chance(probability))
      .map(([name, value]) => [name, value()]),
  );
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

export const configMap: Content = (random) =>
  chosen(random, 0.6, {
    data: () =>
      chosen(random, 0.5, {
        a: () => random.pick(["1", "2", ""]),
        "b.txt": () => "text",
        C_D: () => "é",
        ...(random.chance(0.05) && { "bad key": () => "x" }),
      }),
    binaryData: () => chosen(random, 0.4, { bin: () => base64("x"), a: () => base64("both") }),
    ...(random.chance(0.15) && { immutable: () => random.chance(0.7) }),
  });

export const secret: Content = (random) =>
  chosen(random, 0.5, {
    data: () =>
      chosen(random, 0.5, {
        a: () => base64("1"),
        b: () => base64("2"),
        "tls.crt": () => base64("c"),
        "tls.key": () => base64("k"),
        ...(random.chance(0.05) && { c: () => "%%%" }),
      }),
    stringData: () => chosen(random, 0.5, { a: () => "one", s: () => random.pick(["", "text"]) }),
    type: () =>
      random.weighted([
        [8, "Opaque"],
        [2, "kubernetes.io/tls"],
        [2, "example.com/own"],
        [1, "kubernetes.io/basic-auth"],
        [1, "kubernetes.io/dockerconfigjson"],
        [1, "kubernetes.io/ssh-auth"],
      ]),
    ...(random.chance(0.15) && { immutable: () => random.chance(0.7) }),
  });

const port: Content = (random) => ({
  ...chosen(random, 0.6, {
    name: () => random.pick(["http", "web", "x"]),
    protocol: () => random.pick(["TCP", "UDP"]),
    targetPort: () => random.pick<Json>([8080, "http", 80]),
    appProtocol: () => random.pick(["http", "kubernetes.io/h2c"]),
  }),
  ...(random.chance(0.96) && { port: random.pick([80, 443, 8080]) }),
});

export const service: Content = (random) => ({
  spec: {
    ...chosen(random, 0.5, {
      selector: () => chosen(random, 0.6, { app: () => random.pick(["a", "b"]), tier: () => "web" }),
    }),
    ...(random.chance(0.92) && {
      ports: distinctPorts(
        Array.from(
          {
            length: random.weighted([
              [8, 1],
              [3, 2],
              [1, 3],
            ]),
          },
          () => port(random),
        ),
        random,
      ),
    }),
    ...chosen(random, 0.12, {
      sessionAffinity: () => random.pick(["None", "ClientIP"]),
      publishNotReadyAddresses: () => true,
      clusterIP: () => random.pick(["None", ""]),
      internalTrafficPolicy: () => random.pick(["Cluster", "Local"]),
      type: () => random.pick(["ClusterIP", "ClusterIP", "ExternalName"]),
      externalName: () => "example.com",
    }),
  },
});

function distinctPorts(ports: Json[], random: Random): Json[] {
  if (random.chance(0.05)) return ports;
  const named = ports.length > 1 ? ports.map((each, at) => ({ ...each, name: `p${at}` })) : ports;
  return [...new Map(named.map((each) => [`${each.port}/${each.protocol ?? "TCP"}`, each])).values()];
}

export const serviceAccount: Content = (random) =>
  chosen(random, 0.45, {
    secrets: () => random.some([{ name: "s1" }, { name: "s2" }], 0.5),
    imagePullSecrets: () => random.some([{ name: "p1" }, { name: "p2" }], 0.5),
    automountServiceAccountToken: () => random.chance(0.5),
  });

const env: Content = (random) =>
  random.some<Json>(
    [
      { name: "A", value: random.pick(["1", "2"]) },
      { name: "B" },
      { name: "C", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "D", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
    ],
    0.4,
  );
const resources: Content = (random) =>
  chosen(random, 0.5, {
    limits: () => ({ memory: random.pick(["64Mi", "1Gi", "0.5"]) }),
    requests: () => ({ cpu: random.pick(["100m", "0.1", "1"]) }),
  });

const container =
  (name: string): Content =>
  (random) => ({
    name,
    ...(random.chance(0.95) && {
      image: random.pick([
        "nginx",
        "nginx:1.27",
        "registry.example/x@sha256:0000000000000000000000000000000000000000000000000000000000000000",
        "busybox:latest",
      ]),
    }),
    ...chosen(random, 0.25, {
      command: () => ["sh", "-c", "true"],
      args: () => random.some(["a", "b"], 0.6),
      env: () => env(random),
      resources: () => resources(random),
      ports: () =>
        random.some<Json>(
          [{ containerPort: 8080 }, { containerPort: 9090, name: "metrics" }, { containerPort: 8080, protocol: "UDP" }],
          0.5,
        ),
      readinessProbe: () =>
        random.pick<Json>([
          { httpGet: { port: 8080 } },
          { tcpSocket: { port: "http" } },
          { exec: { command: ["true"] }, periodSeconds: 5 },
        ]),
      imagePullPolicy: () => random.pick(["Always", "Never", "IfNotPresent"]),
      volumeMounts: () => [{ name: "v", mountPath: "/v" }],
      securityContext: () => ({ runAsNonRoot: true }),
    }),
  });

const podSpec: Content = (random) => {
  const containers = random
    .weighted<string[]>([
      [6, ["a"]],
      [3, ["a", "b"]],
      [1, ["b"]],
    ])
    .map((name) => container(name)(random));
  const volumes = random.some<Json>(
    [
      { name: "w", emptyDir: {} },
      { name: "c", configMap: { name: "m" } },
      { name: "s", secret: { secretName: "s" } },
    ],
    0.3,
  );
  const mounts = containers.some((each) => each.volumeMounts);
  return {
    containers,
    ...(mounts || volumes.length > 0
      ? { volumes: [...(mounts ? [{ name: "v", emptyDir: {} }] : []), ...volumes] }
      : {}),
    ...chosen(random, 0.12, {
      terminationGracePeriodSeconds: () => random.pick([0, 5, 30]),
      serviceAccountName: () => "sa",
      nodeSelector: () => ({ disk: "ssd" }),
      securityContext: () => ({ fsGroup: 1 }),
      restartPolicy: () => "Always",
      initContainers: () => [container("init")(random)],
      tolerations: () => [{ key: "k", operator: "Exists" }],
      hostAliases: () => [{ ip: "10.0.0.1", hostnames: ["h"] }],
      imagePullSecrets: () => [{ name: "p" }],
    }),
  };
};

export const deployment: Content = (random) => {
  const labels = { app: random.chance(0.95) ? "a" : "b" };
  return {
    spec: {
      ...(random.chance(0.97) && { selector: { matchLabels: labels } }),
      ...(random.chance(0.97) && {
        template: {
          metadata: {
            labels: {
              ...(random.chance(0.97) && labels),
              ...chosen(random, 0.3, { v: () => random.pick(["1", "2"]) }),
            },
            ...chosen(random, 0.2, { annotations: () => ({ note: "x" }) }),
          },
          spec: podSpec(random),
        },
      }),
      ...chosen(random, 0.25, {
        replicas: () => random.pick([0, 1, 3]),
        paused: () => random.chance(0.5),
        minReadySeconds: () => random.pick([0, 5]),
        revisionHistoryLimit: () => random.pick([0, 3]),
        progressDeadlineSeconds: () => random.pick([60, 600]),
        strategy: () =>
          random.pick<Json>([
            { type: "Recreate" },
            { type: "RollingUpdate" },
            { rollingUpdate: { maxSurge: 1 } },
            { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%", maxSurge: 0 } },
          ]),
      }),
    },
  };
};

const backend: Content = (random) => ({
  service: { name: random.pick(["s", "t"]), port: random.pick<Json>([{ number: 80 }, { name: "http" }]) },
});

export const ingress: Content = (random) => ({
  spec: {
    ...chosen(random, 0.3, {
      ingressClassName: () => random.pick(["nginx", "other"]),
      defaultBackend: () => backend(random),
      tls: () => [{ hosts: random.some(["a.example", "b.example"], 0.6), secretName: "tls" }],
    }),
    ...(random.chance(0.92) && {
      rules: Array.from({ length: 1 + random.int(2) }, () => ({
        ...(random.chance(0.8) && { host: random.pick(["a.example", "*.b.example", "c.example"]) }),
        ...(random.chance(0.9) && {
          http: {
            paths: Array.from({ length: 1 + random.int(2) }, () => ({
              ...(random.chance(0.9) && { path: random.pick(["/", "/a", "/b"]) }),
              ...(random.chance(0.97) && { pathType: random.pick(["Prefix", "Exact", "ImplementationSpecific"]) }),
              backend: backend(random),
            })),
          },
        }),
      })),
    }),
  },
});

const rule: Content = (random) => ({
  ...(random.chance(0.96) && { apiGroups: random.pick([[""], ["apps"], ["", "apps"], ["*"]]) }),
  ...(random.chance(0.96) && {
    resources: random.pick([["pods"], ["configmaps", "secrets"], ["*"], ["deployments/scale"]]),
  }),
  ...(random.chance(0.97) && { verbs: random.pick([["get"], ["get", "list"], ["*"], ["create", "update"]]) }),
  ...chosen(random, 0.15, { resourceNames: () => ["x"] }),
});

export const role: Content = (random) => ({
  ...(random.chance(0.9) && { rules: Array.from({ length: random.int(3) }, () => rule(random)) }),
});

const subjects: Json[] = [
  { kind: "User", name: "u", apiGroup: "rbac.authorization.k8s.io" },
  { kind: "User", name: "v" },
  { kind: "Group", name: "g", apiGroup: "rbac.authorization.k8s.io" },
  { kind: "ServiceAccount", name: "sa", namespace: "default" },
];

export const roleBinding: Content = (random) => ({
  ...(random.chance(0.97) && {
    roleRef: {
      ...(random.chance(0.8) && { apiGroup: "rbac.authorization.k8s.io" }),
      kind: random.pick(["Role", "ClusterRole"]),
      name: random.pick(["view", "r"]),
    },
  }),
  ...(random.chance(0.9) && {
    subjects: random.some(
      [...subjects, ...(random.chance(0.05) ? [{ kind: "ServiceAccount", name: "no-namespace" }] : [])],
      0.4,
    ),
  }),
});

export const lease: Content = (random) => ({
  spec: chosen(random, 0.5, {
    holderIdentity: () => random.pick(["me", "you", ""]),
    leaseDurationSeconds: () => random.pick([15, 30, 1]),
    acquireTime: () => (random.chance(0.03) ? "2026-01-02T03:04:05Z" : "2026-01-02T03:04:05.000000Z"),
    renewTime: () => "2026-01-02T03:04:06.123456Z",
    leaseTransitions: () => random.pick([0, 1, 2]),
  }),
});

export const namespace: Content = (random) => chosen(random, 0.2, { spec: () => ({ finalizers: ["kubernetes"] }) });

export const deploymentStatus: Content = (random) =>
  chosen(random, 0.5, {
    replicas: () => random.int(3),
    readyReplicas: () => random.int(3),
    observedGeneration: () => random.int(3),
    conditions: () =>
      random.some<Json>(
        [
          { type: "Available", status: "True", reason: "R", message: "m" },
          { type: "Progressing", status: random.pick(["True", "False"]) },
        ],
        0.6,
      ),
  });

export const serviceStatus: Content = (random) =>
  chosen(random, 0.6, {
    conditions: () =>
      random.some<Json>(
        [
          { type: "Ready", status: "True", reason: "R", message: "m", lastTransitionTime: "2026-01-02T03:04:05Z" },
          { type: "B", status: "False", reason: "X", message: "", lastTransitionTime: "2026-01-02T03:04:05Z" },
        ],
        0.6,
      ),
  });

export const ingressStatus: Content = (random) =>
  chosen(random, 0.6, {
    loadBalancer: () => ({ ingress: random.some<Json>([{ ip: "10.1.1.1" }, { hostname: "lb.example" }], 0.6) }),
  });
