// The objects of the cluster's DNS: CoreDNS as a Deployment in kube-system, with the names that policies and people expect.
import { BASE_IMAGE, CLUSTER_DNS, COREFILE } from "./settings.ts";

const labels = { "k8s-app": "kube-dns" };
const name = "coredns";
const namespace = "kube-system";

/** Manifests for `kubectl apply`. `program` is the path of coredns on the machine, which pods mount: no image to build or load. */
export function clusterDns(program: string): object[] {
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "system:coredns" },
      rules: [
        { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs: ["list", "watch"] },
        { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
      ],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "system:coredns" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:coredns" },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: { Corefile: COREFILE } },
    deployment(program),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "kube-dns", namespace, labels },
      spec: {
        clusterIP: CLUSTER_DNS,
        selector: labels,
        ports: [
          { name: "dns", port: 53, protocol: "UDP" },
          { name: "dns-tcp", port: 53, protocol: "TCP" },
        ],
      },
    },
  ];
}

function deployment(program: string): object {
  const container = {
    name,
    image: BASE_IMAGE,
    command: ["/coredns", "-conf", "/etc/coredns/Corefile"],
    ports: [{ containerPort: 53, protocol: "UDP" }],
    readinessProbe: { httpGet: { path: "/ready", port: 8181 }, periodSeconds: 1 },
    volumeMounts: [
      { name: "program", mountPath: "/coredns", readOnly: true },
      { name: "config", mountPath: "/etc/coredns" },
    ],
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: name,
          // Names resolve also while the second node is drained or gone.
          nodeName: "node1",
          tolerations: [{ operator: "Exists" }],
          priorityClassName: "system-cluster-critical",
          dnsPolicy: "Default",
          containers: [container],
          volumes: [
            { name: "program", hostPath: { path: program, type: "File" } },
            { name: "config", configMap: { name } },
          ],
        },
      },
    },
  };
}
