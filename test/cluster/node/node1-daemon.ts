// A program of the machine as a DaemonSet on node1, where it survives a drain of either node.
import { BASE_IMAGE } from "./settings.ts";

export interface Node1Daemon {
  name: string;
  namespace: string;
  labels: Readonly<Record<string, string>>;
  /** Path on the machine of a static binary, which the pod mounts at `/<name>`: no image to build or load. */
  program: string;
  args: readonly string[];
  ports: readonly { containerPort: number; protocol?: string }[];
  readiness: { path: string; port: number; scheme?: "HTTPS" };
  /** Requested resources: without one it gets next to no time on a busy machine, and every app behind it would hang. More leaves less room for apps. */
  cpu: string;
  /** A ConfigMap of the same name, at /etc/<name>. */
  hasConfig?: boolean;
}

/** ServiceAccount, ClusterRole with `rules`, their binding, and the DaemonSet. */
export function node1Daemon(daemon: Node1Daemon, rules: readonly object[]): object[] {
  const { name, namespace } = daemon;
  const roleName = `system:${name}`;
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } },
    { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: roleName }, rules },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: roleName },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: roleName },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    },
    {
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name, namespace, labels: daemon.labels },
      spec: {
        selector: { matchLabels: daemon.labels },
        template: { metadata: { labels: daemon.labels }, spec: podSpec(daemon) },
      },
    },
  ];
}

function podSpec(daemon: Node1Daemon): object {
  const { name, program, args, ports, readiness, cpu } = daemon;
  const config = daemon.hasConfig
    ? [{ volume: { name: "config", configMap: { name } }, mount: { name: "config", mountPath: `/etc/${name}` } }]
    : [];
  const binary = {
    volume: { name: "program", hostPath: { path: program, type: "File" } },
    mount: { name: "program", mountPath: `/${name}`, readOnly: true },
  };
  const volumes = [binary, ...config];
  const container = {
    name,
    image: BASE_IMAGE,
    command: [`/${name}`, ...args],
    ports,
    resources: { requests: { cpu } },
    // Ready at once, and not unready because a busy machine answers late: nobody else serves its traffic.
    readinessProbe: { httpGet: readiness, periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 10 },
    volumeMounts: volumes.map(({ mount }) => mount),
  };
  return {
    serviceAccountName: name,
    nodeSelector: { "kubernetes.io/hostname": "node1" },
    tolerations: [{ operator: "Exists" }],
    priorityClassName: "system-cluster-critical",
    terminationGracePeriodSeconds: 1,
    dnsPolicy: "Default",
    containers: [container],
    volumes: volumes.map(({ volume }) => volume),
  };
}
