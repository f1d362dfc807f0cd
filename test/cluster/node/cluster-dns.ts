// The objects of the cluster's DNS: CoreDNS in kube-system, with the names that policies and people expect.
import { node1Daemon } from "./node1-daemon.ts";
import { CLUSTER_DNS, COREFILE } from "./settings.ts";

/** Labels of CoreDNS's pods. */
const labels = { "k8s-app": "kube-dns" };
const name = "coredns";
const namespace = "kube-system";
const rules = [
  { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs: ["list", "watch"] },
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
];

/** Objects to create, in this order. `program` is the path of coredns on the machine. */
export function clusterDns(program: string): object[] {
  const daemon = {
    name,
    namespace,
    labels,
    program,
    args: ["-conf", `/etc/${name}/Corefile`],
    ports: [{ containerPort: 53, protocol: "UDP" }],
    readiness: { path: "/ready", port: 8181 },
    cpu: "200m",
    hasConfig: true,
  };
  const ports = [
    { name: "dns", port: 53, protocol: "UDP" },
    { name: "dns-tcp", port: 53, protocol: "TCP" },
  ];
  return [
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: { Corefile: COREFILE } },
    ...node1Daemon(daemon, rules),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "kube-dns", namespace, labels },
      spec: { clusterIP: CLUSTER_DNS, selector: labels, ports },
    },
  ];
}
