// The objects of Traefik, the ingress controller of tests: for Ingress and for the Gateway API, at ports 80 and 443 of node1.
import { node1Daemon } from "./node1-daemon.ts";

const name = "traefik";
const namespace = "traefik";
const labels = { app: "traefik" };
const GATEWAY = "gateway.networking.k8s.io";
const read = ["get", "list", "watch"];
const routes = [
  "gatewayclasses",
  "gateways",
  "httproutes",
  "grpcroutes",
  "tcproutes",
  "tlsroutes",
  "referencegrants",
  "backendtlspolicies",
];
/** Ports of TCP routes. A Gateway has 64 listeners at most. */
export const TCP_PORTS = { first: 20_000, last: 20_049 } as const;
const tcpPorts = Array.from({ length: TCP_PORTS.last - TCP_PORTS.first + 1 }, (_, at) => TCP_PORTS.first + at);
const rules = [
  { apiGroups: [""], resources: ["services", "secrets", "configmaps", "nodes", "namespaces"], verbs: read },
  { apiGroups: [""], resources: ["pods"], verbs: ["get"] },
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: read },
  { apiGroups: ["networking.k8s.io"], resources: ["ingresses", "ingressclasses"], verbs: read },
  { apiGroups: ["networking.k8s.io"], resources: ["ingresses/status"], verbs: ["update"] },
  { apiGroups: [GATEWAY], resources: routes, verbs: read },
  { apiGroups: [GATEWAY], resources: routes.map((resource) => `${resource}/status`), verbs: ["update"] },
];

export interface TraefikOptions {
  /** Path on the machine. */
  program: string;
  /** Address of node1, which Ingresses and Gateways get as their status. */
  address: string;
  /** More flags. */
  flags: readonly string[];
}

/**
 * Objects to create, in this order, once the Gateway API's kinds are there: Traefik with its defaults, an IngressClass `traefik` that is the default,
 * a GatewayClass `traefik`, and the Gateway `public` in the namespace `traefik`, which takes HTTPRoutes of all namespaces at port 80, and TCPRoutes at TCP_PORTS.
 */
export function traefik({ program, address, flags }: TraefikOptions): object[] {
  const args = [
    "--entryPoints.web.address=:80",
    "--entryPoints.websecure.address=:443",
    "--entryPoints.websecure.http.tls=true",
    "--entryPoints.traefik.address=:8080",
    "--ping=true",
    "--providers.kubernetesIngress=true",
    `--providers.kubernetesIngress.ingressEndpoint.ip=${address}`,
    "--providers.kubernetesGateway=true",
    // TCPRoutes.
    "--providers.kubernetesGateway.experimentalChannel=true",
    ...tcpPorts.map((port) => `--entryPoints.tcp-${port}.address=:${port}`),
    `--providers.kubernetesGateway.statusAddress.ip=${address}`,
    "--global.checkNewVersion=false",
    "--global.sendAnonymousUsage=false",
    ...flags,
  ];
  const readiness = { path: "/ping", port: 8080 };
  const ports = [{ containerPort: 80 }, { containerPort: 443 }];
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    ...node1Daemon({ name, namespace, labels, program, args, ports, readiness, cpu: "500m" }, rules),
    nodePorts(),
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "IngressClass",
      metadata: { name, annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
      spec: { controller: "traefik.io/ingress-controller" },
    },
    {
      apiVersion: `${GATEWAY}/v1`,
      kind: "GatewayClass",
      metadata: { name },
      spec: { controllerName: "traefik.io/gateway-controller" },
    },
    {
      apiVersion: `${GATEWAY}/v1`,
      kind: "Gateway",
      metadata: { name: "public", namespace },
      spec: {
        gatewayClassName: name,
        listeners: [
          { name: "http", protocol: "HTTP", port: 80, allowedRoutes: { namespaces: { from: "All" } } },
          ...tcpPorts.map((port) => ({
            name: `tcp-${port}`,
            protocol: "TCP",
            port,
            allowedRoutes: { namespaces: { from: "All" } },
          })),
        ],
      },
    },
  ];
}

/** Local traffic policy: apps see the client's address. */
function nodePorts(): object {
  const ports = [
    { name: "web", port: 80, nodePort: 80 },
    { name: "websecure", port: 443, nodePort: 443 },
    ...tcpPorts.map((port) => ({ name: `tcp-${port}`, port, nodePort: port })),
  ];
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace },
    spec: { type: "NodePort", externalTrafficPolicy: "Local", selector: labels, ports },
  };
}
