// The roles that one process can play, by the names that --operation takes.

export const OPERATIONS = {
  api: "the CF API",
  controllers: "CF kinds to workload kinds",
  "host-builder": "builds on this machine (class host)",
  "cnb-builder": "builds in Pods, with Cloud Native Buildpacks (class cnb)",
  "kpack-builder": "builds by kpack (class kpack)",
  "process-runner": "runs instances and tasks as processes of this machine (classes process and process-task)",
  "local-router": "serves routes on the API's own port (class local)",
  "deployment-runner": "runs instances as Deployments (class deployment)",
  "statefulset-runner": "runs instances as StatefulSets (class statefulset)",
  "instance-index": "gives pods their instance index, which they wait for (class deployment)",
  "job-runner": "runs tasks as Jobs (class job)",
  "ingress-router": "serves routes by Ingress (class ingress)",
  "gateway-router": "serves routes by HTTPRoutes of the Gateway API (class gateway)",
  "internal-dns": "serves internal domains by names in the cluster's DNS (class internal-dns)",
  "dns-records": "writes a DNSEndpoint of external-dns for each host whose apps are placed on clusters",
  policies: "puts operator policy in force: kinds of constraints, their ValidatingAdmissionPolicies, and the audit",
  webhook: "refuses taken names, and what operator policy denies by reading other objects, early and in friendly words",
  logs: "keeps the logs of apps that run in pods",
  agent: "on a cluster of another platform: binds that platform's rights in the namespaces that it makes",
  "hub-logs": "on a cluster of another platform: serves the logs and stats of the apps there to that platform",
  "log-drains": "sends the logs of apps to the log drains of their bound services",
  "route-service":
    "sends requests of routes to their route services, on a port of its own (classes ingress and gateway)",
  "ssh-proxy": "cf ssh into the instances of apps, on a port of its own",
} as const;
export type Operation = keyof typeof OPERATIONS;

/** Default on a laptop. */
export const LOCAL_OPERATIONS: readonly Operation[] = [
  "api",
  "controllers",
  "policies",
  "host-builder",
  "process-runner",
  "local-router",
  "log-drains",
  "ssh-proxy",
];
/** Default on a cluster. Not `webhook`: it needs a Service in front of it, or an address that API servers reach. */
export const CLUSTER_OPERATIONS: readonly Operation[] = [
  "api",
  "controllers",
  "policies",
  "deployment-runner",
  "instance-index",
  "job-runner",
  "ingress-router",
  "logs",
  "log-drains",
];

/** Parses `api,controllers,…`. @throws Error that lists the valid names. */
export function parseOperations(text: string): Operation[] {
  const names = text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  const unknown = names.filter((name) => !(name in OPERATIONS));
  if (unknown.length > 0 || names.length === 0) {
    throw new Error(
      `--operation: ${unknown.length > 0 ? `unknown: ${unknown.join(", ")}` : "none given"}. There are: ${Object.keys(OPERATIONS).join(", ")}`,
    );
  }
  return [...new Set(names)] as Operation[];
}
