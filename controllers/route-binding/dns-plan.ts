// The DNS record of a host: the routers of the clusters whose instances take its requests. Pure.
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { parseRouterAddresses, ROUTER_ADDRESSES } from "../../crds/backend-class/router-addresses.ts";
import type { Cluster } from "../../crds/cluster/cluster.ts";
import { LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import { generatedName } from "../../crds/object-names.ts";
import type { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import type { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";
import { silentSince } from "../shared/reachable.ts";
import { DNSEndpoint, type DNSRecord } from "./dns-endpoint-kind.ts";

/** How long resolvers may keep a record, and so how long after its end a cluster may get requests. */
const TTL_SECONDS = 60;

export interface RecordInput {
  hostname: string;
  /** All RouteBindings of the host, with their paths. */
  bindings: readonly Pick<RouteBinding, "spec">[];
  /** Decisions about the apps of these. */
  decisions: readonly Pick<PlacementDecision, "spec" | "status">[];
  clusters: readonly Cluster[];
  /** Classes on the platform's own cluster. */
  classes: readonly BackendClass[];
}

export interface RecordPlan {
  records: DNSRecord[];
  ready: ReadyDraft;
}

/** The host's domain, as a name; a wildcard's, too. */
export function domainOf(hostname: string): string {
  return hostname.slice(hostname.indexOf(".") + 1);
}

/** Undefined where no app of the host is placed on clusters: it is served by the platform's own, as the operator's DNS says. */
export function planRecords(input: RecordInput): RecordPlan | undefined {
  const { bindings, clusters, classes, hostname } = input;
  if (!bindings.some((binding) => placedOf(binding, input).length > 0)) return undefined;
  const names = chooseClusters(input);
  const found = names.map((name) => ({ name, addresses: addressesOf(name, { bindings, clusters, classes }) }));
  const without = found.filter(({ addresses }) => addresses.length === 0).map(({ name }) => name);
  const targets = [...new Set(found.flatMap(({ addresses }) => addresses))].toSorted();
  const isIPv6 = (address: string): boolean => address.includes(":");
  const records = [
    toRecord(
      hostname,
      "A",
      targets.filter((address) => !isIPv6(address)),
    ),
    toRecord(hostname, "AAAA", targets.filter(isIPv6)),
  ];
  return { records: records.flatMap((record) => record ?? []), ready: toReady(hostname, targets, { names, without }) };
}

function toRecord(
  hostname: string,
  recordType: DNSRecord["recordType"],
  targets: readonly string[],
): DNSRecord | undefined {
  if (targets.length === 0) return undefined;
  return { dnsName: hostname, recordType, recordTTL: TTL_SECONDS, targets: [...targets] };
}

function toReady(
  hostname: string,
  targets: readonly string[],
  { names, without }: { names: readonly string[]; without: readonly string[] },
): ReadyDraft {
  if (names.length === 0)
    return {
      status: "False",
      reason: "NoRouter",
      message: `no cluster with instances of ${hostname} has its router, so it has no DNS record`,
      isFailure: true,
    };
  const missing = `${without.join(", ")} without an address: set spec.routerAddresses of a Cluster, and for ${LOCAL_CLUSTER} parameters.${ROUTER_ADDRESSES} of the router's BackendClass`;
  if (targets.length === 0)
    return { status: "False", reason: "NoAddress", message: `no DNS record: ${missing}`, isFailure: true };
  const said = `${hostname} leads to ${targets.join(", ")}`;
  return { status: "True", reason: "Written", message: without.length > 0 ? `${said}; ${missing}` : said };
}

/**
 * Clusters that take requests for every path of the host that is served anywhere; where there is none, for any of its paths. Where no instance is ready, or every
 * cluster is silent, those on which instances are placed: a name without a record would be remembered as missing by resolvers.
 */
function chooseClusters(input: RecordInput): string[] {
  const isSilent = (name: string): boolean => {
    const cluster = input.clusters.find(({ metadata }) => metadata.name === name);
    return cluster !== undefined && silentSince(cluster) !== undefined;
  };
  const perPath = (list: typeof placedOf): string[][] =>
    input.bindings.map((binding) => list(binding, input)).filter((names) => names.length > 0);
  const answering = perPath(readyOf).map((names) => names.filter((name) => !isSilent(name)));
  const served = answering.filter((names) => names.length > 0);
  return intersectOrJoin(served.length > 0 ? served : perPath(placedOf));
}

function intersectOrJoin(sets: readonly string[][]): string[] {
  const all = [...new Set(sets.flat())].toSorted();
  const inAll = all.filter((name) => sets.every((names) => names.includes(name)));
  return inAll.length > 0 ? inAll : all;
}

/** Clusters with the router on which instances of the binding are placed. */
function placedOf(binding: Pick<RouteBinding, "spec">, input: RecordInput): string[] {
  return listClusters(binding, input, ({ spec }) =>
    spec.assignments.filter(({ indexes }) => indexes.length > 0).map(({ cluster }) => cluster),
  );
}

/** Those of them with an instance that takes requests, as last seen. */
function readyOf(binding: Pick<RouteBinding, "spec">, input: RecordInput): string[] {
  return listClusters(binding, input, ({ status }) =>
    (status?.clusters ?? [])
      .filter(
        ({ deleting, instances = [] }) =>
          !deleting && instances.some(({ state, ready }) => state === "Running" && ready),
      )
      .map(({ name }) => name),
  );
}

function listClusters(
  { spec }: Pick<RouteBinding, "spec">,
  { decisions, clusters }: RecordInput,
  listOf: (decision: Pick<PlacementDecision, "spec" | "status">) => string[],
): string[] {
  const names = spec.destinations.flatMap(({ appGUID, processType, namespace }) =>
    decisions
      .filter(({ spec: placed }) => placed.app === appGUID && placed.processType === processType)
      .flatMap(listOf)
      // Apps in other spaces, and routes with a service, are served by the platform's own cluster alone.
      .filter((name) => name === LOCAL_CLUSTER || (namespace === undefined && !spec.routeService)),
  );
  return [...new Set(names)].filter((name) => name === LOCAL_CLUSTER || hasRouter(name, spec.class, clusters));
}

function hasRouter(name: string, router: string, clusters: readonly Cluster[]): boolean {
  const { metadata, status } = clusters.find((one) => one.metadata.name === name) ?? {};
  if (!metadata || metadata.deletionTimestamp) return false;
  return (status?.classes ?? []).some((one) => one.role === "router" && one.name === router);
}

function addressesOf(
  name: string,
  { bindings, clusters, classes }: Pick<RecordInput, "bindings" | "clusters" | "classes">,
): readonly string[] {
  if (name !== LOCAL_CLUSTER)
    return clusters.find(({ metadata }) => metadata.name === name)?.spec.routerAddresses ?? [];
  const routers = new Set(bindings.map(({ spec }) => spec.class));
  return classes
    .filter(({ metadata, spec }) => spec.role === "router" && routers.has(metadata.name))
    .flatMap(({ spec }) => parseRouterAddresses(spec.parameters?.[ROUTER_ADDRESSES]));
}

/** In the namespace of the binding that has it. `hostname`: each has one. */
export function planEndpoint(namespace: string | undefined, hostname: string, endpoints: readonly DNSRecord[]): Draft {
  return {
    apiVersion: apiVersionOf(DNSEndpoint),
    kind: DNSEndpoint.kind,
    metadata: { name: generatedName(hostname.replace(/^\*/, "wildcard"), hostname), namespace },
    spec: { endpoints },
  };
}
