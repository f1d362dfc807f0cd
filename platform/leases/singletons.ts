// Work of the elected leader: backends that act on a machine, controllers with side effects, and clean-up. One Lease for each operation.
import type { Logger } from "pino";
import type { KubeClient } from "../../kube/client/client.ts";
import type { ControllerMetrics } from "../../kube/controller/controller-metrics.ts";
import type { Controller } from "../../kube/controller/controller.ts";
import { runLeaderWork, type RunningLeaderWork, type LeaderWork } from "../../kube/lease/leader-work.ts";
import type { Term } from "../../kube/lease/leader-election.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { ReconcileTraces } from "../../kube/tracing/trace-reconciles.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { Operation } from "../operations/operations.ts";
import { CONTROLLER_SETTINGS } from "../operations/controller-settings.ts";
import { LEASE_SECONDS, leaseTiming } from "./replica-membership.ts";

/** The elected part of one operation. */
export interface Singleton {
  operation: Operation;
  /** Kinds whose caches must be filled before this process may take over. */
  requiredKinds: readonly ResourceRef[];
  requiredWatches?: NonNullable<Parameters<typeof runLeaderWork>[0]["requiredWatches"]>;
  /** Seconds after which another replica takes over, if sooner than for other work. */
  maxLeaseSeconds?: number;
  startTerm: (term: Term, client: KubeClient) => LeaderWork;
}

/** A singleton for controllers with side effects and periodic tasks; undefined without any. */
export function toSingleton(
  operation: Operation,
  controllers: readonly Controller[],
  tasks: readonly PeriodicTask[] = [],
): Singleton | undefined {
  const singletons = controllers.filter(({ kind }) => kind === "singleton");
  if (singletons.length === 0 && tasks.length === 0) return undefined;
  const kinds = [...singletons.flatMap(listWatchedKinds), ...tasks.flatMap(({ reads }) => reads)];
  return {
    operation,
    requiredKinds: [...new Map(kinds.map((ref) => [resourceId(ref), ref])).values()],
    startTerm: (_term, client) => {
      const abort = new AbortController();
      let ends: Promise<void>[] = [];
      return {
        controllers: singletons,
        start: () => void (ends = tasks.map((chore) => Promise.resolve(chore.start(abort.signal, client)))),
        async stop() {
          abort.abort();
          await Promise.all(ends);
        },
      };
    },
  };
}

/** A periodic task of the leader. `start` returns at once; the task ends with the signal. */
export interface PeriodicTask {
  reads: readonly ResourceRef[];
  /** `client` writes only during the term. The term ends after the promise, if there is one. */
  start: (signal: AbortSignal, client: KubeClient) => Promise<void> | void;
}

/** Kinds that a controller watches without a namespace or label filter. */
function listWatchedKinds({ for: own, reads = [], watches = [] }: Controller): ResourceRef[] {
  return [own, ...reads, ...watches.filter((rule) => !rule.namespace && !rule.labelSelector).map((rule) => rule.ref)];
}

export interface SingletonOptions {
  client: KubeClient;
  informers: Informers;
  /** Other clusters. */
  remote?: Parameters<typeof runLeaderWork>[0]["remote"];
  identity: string;
  /** As PlatformOptions.leaseSeconds. */
  leaseSeconds: number | undefined;
  signal: AbortSignal;
  log: Logger;
  metrics?: ControllerMetrics | undefined;
  traces?: ReconcileTraces | undefined;
}

/** Runs a leader election for each singleton. */
export function runSingletons(singletons: readonly Singleton[], options: SingletonOptions): RunningLeaderWork[] {
  return singletons.map(({ operation, requiredKinds, requiredWatches = [], maxLeaseSeconds = Infinity, startTerm }) =>
    runLeaderWork({
      ...options,
      timing: leaseTiming(Math.min(options.leaseSeconds ?? LEASE_SECONDS, maxLeaseSeconds)).leader,
      ownership: CONTROLLER_SETTINGS,
      namespace: SYSTEM_NAMESPACE,
      name: `leader-${operation}`,
      requiredKinds,
      requiredWatches,
      createWork: startTerm,
    }),
  );
}
