// Writes a DNSEndpoint of external-dns for each host of a shared domain whose apps are placed on clusters. The operation `dns-records` runs it.
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { ROUTER_ADDRESSES } from "../../crds/backend-class/router-addresses.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { ageSortKey } from "../../crds/guid.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import {
  defineController,
  watch,
  type Controller,
  type MapResult,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import { createFactFilter } from "../shared/fact-filter.ts";
import { silentSince } from "../shared/reachable.ts";
import { DNSEndpoint } from "./dns-endpoint-kind.ts";
import { domainOf, planEndpoint, planRecords } from "./dns-plan.ts";

/** Condition of the RouteBinding that has the record of its host. */
export const DNS_RECORD = "DNSRecord";

/** RouteBindings by host, by the host's domain, and by the GUIDs of their apps. */
const HOST_INDEX = "controllers/dns-host";
const DOMAIN_INDEX = "controllers/dns-domain";
const APP_INDEX = "controllers/dns-app";
/** PlacementDecisions by the GUID of their app, and by cluster. */
const DECISION_APP_INDEX = "controllers/dns-decision-app";
const DECISION_CLUSTER_INDEX = "controllers/dns-decision-cluster";

export function dnsRecordsController(): Controller {
  const concerns = createFactFilter((cluster: Cluster) => [
    cluster.spec.routerAddresses,
    cluster.status?.classes?.filter(({ role }) => role === "router").map(({ name }) => name),
    silentSince(cluster) !== undefined,
    cluster.metadata.deletionTimestamp,
  ]);
  return defineController({
    name: "dns-records",
    for: RouteBinding,
    // TCP routes share the name of their domain, and internal ones have no name outside.
    selects: ({ spec }: RouteBinding) => spec.port === 0 && !spec.internal,
    owns: [DNSEndpoint],
    indexes: {
      [HOST_INDEX]: ({ spec }: RouteBinding) => [spec.hostname],
      [DOMAIN_INDEX]: ({ spec }: RouteBinding) => [domainOf(spec.hostname)],
      [APP_INDEX]: ({ spec }: RouteBinding) => [...new Set(spec.destinations.map(({ appGUID }) => appGUID))],
    },
    watches: [
      // Bindings of one host are one record.
      watch(RouteBinding, ({ spec }) => ({ [HOST_INDEX]: spec.hostname })),
      watch(Domain, ({ spec }) => ({ [DOMAIN_INDEX]: spec.name })),
      watch(PlacementDecision, ({ spec }) => ({ [APP_INDEX]: spec.app }), {
        indexes: {
          [DECISION_APP_INDEX]: ({ spec }: PlacementDecision) => [spec.app],
          [DECISION_CLUSTER_INDEX]: ({ spec }: PlacementDecision) => spec.assignments.map(({ cluster }) => cluster),
        },
      }),
      watch(Cluster, (cluster, read) => (concerns(cluster) ? appsOn(cluster.metadata.name, read) : [])),
      watch(BackendClass, routedBy),
    ],
    writesObject: false,
    condition: DNS_RECORD,
    reconcile: reconcileRecord,
  });
}

/** The bindings of a router that has addresses. */
function routedBy({ metadata, spec }: BackendClass, read: Reader): MapResult {
  if (spec.role !== "router" || spec.parameters?.[ROUTER_ADDRESSES] === undefined) return [];
  return read
    .list(RouteBinding)
    .filter((one) => one.spec.class === metadata.name)
    .map((one) => one.metadata);
}

function appsOn(cluster: string, read: Reader): MapResult {
  const decisions = read.byIndex(PlacementDecision, DECISION_CLUSTER_INDEX, cluster);
  return { [APP_INDEX]: [...new Set(decisions.map(({ spec }) => spec.app))] };
}

function reconcileRecord(binding: RouteBinding, { read }: ReconcileContext): ReconcileResult {
  const { hostname } = binding.spec;
  const bindings = read
    .byIndex(RouteBinding, HOST_INDEX, hostname)
    .filter(({ metadata, spec }) => !metadata.deletionTimestamp && spec.port === 0 && !spec.internal);
  const plan =
    isFirst(binding, bindings) && isShared(hostname, read)
      ? planRecords({
          hostname,
          bindings,
          decisions: listDecisions(bindings, read),
          clusters: read.list(Cluster),
          classes: read.list(BackendClass),
        })
      : undefined;
  if (!plan) return { children: [], ...toSilence(binding) };
  const endpoint = planEndpoint(binding.metadata.namespace, hostname, plan.records);
  return { children: plan.records.length > 0 ? [endpoint] : [], ready: plan.ready };
}

/** The oldest binding of a host has the record. */
function isFirst({ metadata }: RouteBinding, bindings: readonly RouteBinding[]): boolean {
  const [first] = bindings.toSorted((a, b) => (ageSortKey(a) < ageSortKey(b) ? -1 : 1));
  return first?.metadata.uid === metadata.uid;
}

/** An org's manager chooses the names of private domains, so these get no record: it could be any name of the operator's zones. */
function isShared(hostname: string, read: Reader): boolean {
  const domain = domainOf(hostname);
  return read
    .list(Domain, { namespace: SYSTEM_NAMESPACE })
    .some(({ metadata, spec }) => spec.name === domain && !spec.internal && !metadata.deletionTimestamp);
}

function listDecisions(bindings: readonly RouteBinding[], read: Reader): PlacementDecision[] {
  const apps = new Set(bindings.flatMap(({ spec }) => spec.destinations.map(({ appGUID }) => appGUID)));
  return [...apps].flatMap((app) => read.byIndex(PlacementDecision, DECISION_APP_INDEX, app));
}

/** Says nothing, unless an earlier condition is not true any more. */
function toSilence({ status }: RouteBinding): ReconcileResult {
  const said = status?.conditions?.some(({ type }) => type === DNS_RECORD);
  if (!said) return { keepStatus: true };
  return { ready: { status: "True", reason: "NotNeeded", message: "it has no DNS record of its own" } };
}
