// Metrics of what apps go through: builds, starts, tasks, and their routes. Every process that may lead the controllers follows; the leader alone counts, so that a sum over replicas counts each once.
import { Build } from "../../crds/build/build.ts";
import { crashesSince } from "../../crds/lrp/crashes.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { Task } from "../../crds/task/task.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import { NAME, type MetricDefinition, type Metrics, type Sample } from "../../kube/metrics/metrics.ts";
import { follow, followChanges, isStarted } from "../follow-ends.ts";
import { READINESS, isSynced, readinessOf } from "./objects.ts";

const BUILDS = {
  name: "cupola_builds_total",
  type: "counter",
  help: "Builds that ended, by builder class (default: the default one) and by result: staged, or the error of Cloud Foundry.",
  labels: { builder: NAME, result: NAME },
} as const satisfies MetricDefinition;
const BUILD_SECONDS = {
  name: "cupola_build_seconds",
  type: "histogram",
  help: "Time from a Build's creation to its end.",
  labels: { builder: NAME, result: ["staged", "failed"] },
  buckets: [1, 5, 15, 30, 60, 120, 300, 900],
} as const satisfies MetricDefinition;
const APP_STARTS = {
  name: "cupola_app_start_seconds",
  type: "histogram",
  help: "Time from the creation of an LRP, at a start, a restart or a rollout, to the moment when all its instances are ready for the first time.",
  labels: { runner: NAME },
  buckets: [1, 2, 5, 10, 20, 60, 180],
} as const satisfies MetricDefinition;
const CRASHES = {
  name: "cupola_instance_crashes_total",
  type: "counter",
  help: "Crashes of instances, by runner class.",
  labels: { runner: NAME },
} as const satisfies MetricDefinition;
const TASKS = {
  name: "cupola_tasks_total",
  type: "counter",
  help: "Tasks that ended, by result.",
  labels: { result: ["Succeeded", "Failed"] },
} as const satisfies MetricDefinition;
const ROUTE_BINDINGS = {
  name: "cupola_route_bindings",
  type: "gauge",
  help: "Routes on a router, by router class and by their condition Ready; from the process that leads the controllers.",
  labels: { router: NAME, ready: READINESS },
} as const satisfies MetricDefinition;

export const APP_METRICS: readonly MetricDefinition[] = [
  BUILDS,
  BUILD_SECONDS,
  APP_STARTS,
  CRASHES,
  TASKS,
  ROUTE_BINDINGS,
];

export interface FollowedApps {
  informers: Informers;
  /** Whether this process counts. */
  counts: () => boolean;
  /** Milliseconds. */
  now?: () => number;
}

/** Counts until the returned function is called. */
export function followApps(
  metrics: Metrics,
  { informers, counts, now = () => performance.now() }: FollowedApps,
): () => void {
  const [builds, buildSeconds] = [metrics.counter(BUILDS), metrics.histogram(BUILD_SECONDS)];
  const [starts, tasks] = [metrics.histogram(APP_STARTS), metrics.counter(TASKS)];
  const crashes = metrics.counter(CRASHES);
  const releases = [
    follow(informers, Build, { isEnded: ({ status }) => isEndedBuild(status?.state), now }, (build, seconds) => {
      if (!counts()) return;
      const builder = build.spec.builder ?? "default";
      const isStaged = build.status?.state === "Staged";
      builds({ builder, result: isStaged ? "staged" : (build.status?.error?.code ?? "unknown") });
      if (seconds !== undefined) buildSeconds({ builder, result: isStaged ? "staged" : "failed" }, seconds);
    }),
    follow(informers, LRP, { isEnded: isStarted, now }, (lrp, seconds) => {
      if (counts() && seconds !== undefined) starts({ runner: lrp.spec.class }, seconds);
    }),
    followChanges(informers, LRP, (change) => {
      const count = change.type === "modified" && !change.initial ? countCrashes(change.old, change.object) : 0;
      if (count > 0 && counts()) crashes({ runner: change.object.spec.class }, count);
    }),
    follow(informers, Task, { isEnded: ({ status }) => isEndedTask(status?.state), now }, (task) => {
      if (counts()) tasks({ result: task.status?.state === "Succeeded" ? "Succeeded" : "Failed" });
    }),
    metrics.gauge(ROUTE_BINDINGS, () => (counts() ? countBindings(informers) : [])),
  ];
  return () => releases.forEach((release) => release());
}

function isEndedBuild(state: string | undefined): boolean {
  return state === "Staged" || state === "Failed";
}

function isEndedTask(state: string | undefined): boolean {
  return state === "Succeeded" || state === "Failed";
}

function countCrashes(old: LRP, lrp: LRP): number {
  const before = new Map(old.status?.instances?.map((instance) => [instance.index, instance]));
  const after = lrp.status?.instances ?? [];
  return after.reduce((sum, instance) => sum + crashesSince(before.get(instance.index), instance), 0);
}

function countBindings(informers: Informers): Sample<typeof ROUTE_BINDINGS>[] {
  if (!isSynced(informers, RouteBinding)) return [];
  return informers.read
    .list(RouteBinding)
    .map((binding) => [{ router: binding.spec.class, ready: readinessOf(binding) }, 1] as const);
}
