// Metrics of the platform as a whole: its version, health, leaders, and the objects and instances that it has. Read at each scrape, from caches.
import { DEFINITIONS } from "../../crds/definitions.ts";
import { INSTANCE_STATES, LRP } from "../../crds/lrp/lrp.ts";
import { X509Certificate } from "node:crypto";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import { NAME, type MetricDefinition, type Metrics, type Sample } from "../../kube/metrics/metrics.ts";
import type { ReadinessReport } from "../../kube/server/readiness.ts";
import { cupolaVersion } from "../version.ts";
import { READINESS, isSynced, readinessOf } from "./objects.ts";

const BUILD = {
  name: "cupola_build_info",
  type: "gauge",
  help: "1, with the version of this process.",
  labels: { version: NAME },
} as const satisfies MetricDefinition;
const READY = {
  name: "cupola_ready",
  type: "gauge",
  help: "1 while /readyz answers 200.",
  labels: {},
} as const satisfies MetricDefinition;
const DEGRADED = {
  name: "cupola_degraded",
  type: "gauge",
  help: "1 for each check of /readyz that fails.",
  labels: { check: NAME },
} as const satisfies MetricDefinition;
const LEADER = {
  name: "leader_election_master_status",
  type: "gauge",
  help: "1 while this process leads, else 0, by the name of the Lease.",
  labels: { name: NAME },
} as const satisfies MetricDefinition;
const OBJECTS = {
  name: "cupola_objects",
  type: "gauge",
  help: "Objects of Cupola by kind and by their condition Ready; from the process that leads the controllers.",
  labels: { kind: NAME, ready: READINESS },
} as const satisfies MetricDefinition;
const INSTANCES = {
  name: "cupola_instances",
  type: "gauge",
  help: "Instances of apps by runner class and state; from the process that leads the controllers.",
  labels: { runner: NAME, state: INSTANCE_STATES },
} as const satisfies MetricDefinition;

const CERTIFICATE = {
  name: "cupola_certificate_expiration_timestamp_seconds",
  type: "gauge",
  help: "When the certificate ends that this process serves, as a Unix time.",
  labels: { certificate: NAME },
} as const satisfies MetricDefinition;

export const PLATFORM_METRICS: readonly MetricDefinition[] = [
  BUILD,
  READY,
  DEGRADED,
  LEADER,
  OBJECTS,
  INSTANCES,
  CERTIFICATE,
];

/** The Lease whose holder counts objects, so that a sum over replicas counts each once. */
export const COUNTING_LEASE = "leader-controllers";

export interface ObservedPlatform {
  informers: Informers;
  health: () => ReadinessReport;
  /** The elections that this process runs in. */
  elections: readonly { name: string; isLeading(): boolean }[];
  /** The certificate that it serves, PEM. */
  certificate?: string | undefined;
}

/** Reads the platform at each scrape. */
export function followPlatform(
  metrics: Metrics,
  { informers, health, elections, certificate }: ObservedPlatform,
): void {
  const version = cupolaVersion();
  const counts = (): boolean => elections.some(({ name, isLeading }) => name === COUNTING_LEASE && isLeading());
  metrics.gauge(BUILD, () => [[{ version }, 1]]);
  metrics.gauge(READY, () => [[{}, health().ready ? 1 : 0]]);
  metrics.gauge(DEGRADED, () =>
    [...health().pending, ...health().degraded].map(({ name }) => [{ check: name }, 1] as const),
  );
  metrics.gauge(LEADER, () => elections.map(({ name, isLeading }) => [{ name }, isLeading() ? 1 : 0] as const));
  metrics.gauge(OBJECTS, () => (counts() ? countObjects(informers) : []));
  metrics.gauge(INSTANCES, () => (counts() ? countInstances(informers) : []));
  if (certificate === undefined) return;
  const ends = new X509Certificate(certificate).validToDate.getTime() / 1000;
  metrics.gauge(CERTIFICATE, () => [[{ certificate: "serving" }, ends]]);
}

function countObjects(informers: Informers): Sample<typeof OBJECTS>[] {
  return DEFINITIONS.filter((definition) => isSynced(informers, definition)).flatMap((definition) => {
    const byReady = Map.groupBy(informers.read.list<KubeObject>(definition), readinessOf);
    return [...byReady].map(([ready, objects]) => [{ kind: definition.kind, ready }, objects.length] as const);
  });
}

function countInstances(informers: Informers): Sample<typeof INSTANCES>[] {
  if (!isSynced(informers, LRP)) return [];
  const lrps = informers.read.list(LRP);
  return lrps.flatMap(({ spec, status }) =>
    (status?.instances ?? []).map(({ state }) => [{ runner: spec.class, state }, 1] as const),
  );
}
