// The objects of metrics-server, which serves the usage of pods and nodes as metrics.k8s.io: `kubectl top`, and the stats of apps.
import { node1Daemon } from "./node1-daemon.ts";

const name = "metrics-server";
const namespace = "kube-system";
const labels = { app: name };
const PORT = 10250;
const RBAC = "rbac.authorization.k8s.io";
const rules = [
  { apiGroups: [""], resources: ["nodes/metrics"], verbs: ["get"] },
  { apiGroups: [""], resources: ["pods", "nodes"], verbs: ["get", "list", "watch"] },
];
const args = [
  `--secure-port=${PORT}`,
  "--cert-dir=/tmp",
  "--kubelet-preferred-address-types=InternalIP",
  "--kubelet-use-node-status-port",
  "--kubelet-certificate-authority=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
  // The shortest that it takes; a request has to end sooner.
  "--metric-resolution=10s",
  "--kubelet-request-timeout=8s",
];

/** Objects to create, in this order. `program` is the path of metrics-server on the machine. */
export function metricsServer(program: string): object[] {
  const readiness = { path: "/readyz", port: PORT, scheme: "HTTPS" as const };
  const ports = [{ containerPort: PORT }];
  return [
    ...node1Daemon({ name, namespace, labels, program, args, ports, readiness, cpu: "50m" }, rules),
    ...rightsOfAnAggregatedAPI(),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace },
      spec: { selector: labels, ports: [{ port: 443, targetPort: PORT }] },
    },
    {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1beta1.metrics.k8s.io" },
      spec: {
        service: { name, namespace },
        group: "metrics.k8s.io",
        version: "v1beta1",
        // It makes its own certificate at each start.
        insecureSkipTLSVerify: true,
        groupPriorityMinimum: 100,
        versionPriority: 100,
      },
    },
  ];
}

/** To know kube-apiserver by its certificate, and to ask it who may read. */
function rightsOfAnAggregatedAPI(): object[] {
  const subjects = [{ kind: "ServiceAccount", name, namespace }];
  return [
    {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata: { name: `${name}-auth-reader`, namespace },
      roleRef: { apiGroup: RBAC, kind: "Role", name: "extension-apiserver-authentication-reader" },
      subjects,
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: `${name}:system:auth-delegator` },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "system:auth-delegator" },
      subjects,
    },
  ];
}
