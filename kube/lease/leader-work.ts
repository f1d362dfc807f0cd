// Work of the leader: caches sync before the election, controllers run during the term and stop before the next.
import type { Logger } from "pino";
import { untilAborted } from "../client/until-aborted.ts";
import type { KubeClient } from "../client/client.ts";
import type { ControllerMetrics } from "../controller/controller-metrics.ts";
import type { ReconcileTraces } from "../tracing/trace-reconciles.ts";
import type { Controller, OwnershipMarkers, WatchRule } from "../controller/controller.ts";
import { createFencedClient } from "./fenced-client.ts";
import { type LeaderElectionTiming, runLeaderElection, type Term } from "./leader-election.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import { type ControllerRun, runControllers, type RunControllersOptions } from "../controller/run-controllers.ts";
import { listUnsyncedWatches, cacheUntilStateChange, type UnsyncedWatch } from "../cache/unsynced-watches.ts";
import type { InformerHandle, Informers } from "../cache/informers.ts";
import type { KubeObject } from "../api/object.ts";

/** The work of one term. */
export interface LeaderWork {
  controllers: readonly Controller[];
  /** Called before the controllers start. */
  start?(): Promise<void> | void;
  /** Called after the controllers have stopped; the next leader waits for it. */
  stop?(): Promise<void> | void;
}

export interface LeaderWorkOptions {
  client: KubeClient;
  informers: Informers;
  ownership: OwnershipMarkers;
  /** As RunControllersOptions.remote. */
  remote?: RunControllersOptions["remote"];
  namespace: string;
  /** Name of the Lease. */
  name: string;
  identity: string;
  /** Kinds whose caches must sync before this process runs for election. */
  requiredKinds: readonly ResourceRef[];
  /** Restricted watches of the controllers that must sync before, too, so that a take-over lists nothing. */
  requiredWatches?: readonly Pick<WatchRule, "ref" | "labelSelector" | "transform">[];
  /** Called at the start of each term. `client` writes only during the term. */
  createWork: (term: Term, client: KubeClient) => LeaderWork;
  /** Aborting it ends the term and the candidacy. */
  signal: AbortSignal;
  log: Logger;
  timing?: Partial<LeaderElectionTiming>;
  metrics?: ControllerMetrics | undefined;
  traces?: ReconcileTraces | undefined;
}

export interface RunningLeaderWork {
  readonly name: string;
  /** Whether this process leads and its controllers have started. */
  isLeading(): boolean;
  /** Resolves when the caches are synced, so that this process can lead at once. Pending while a watch is parked. */
  readonly cachesSynced: Promise<void>;
  /** Required kinds whose caches are not synced. The same array until it changes. */
  unsyncedWatches(): readonly UnsyncedWatch[];
  /** As in ControllerRun; empty while this process does not lead. */
  staleKinds(): readonly string[];
  /** Resolves when no controller is busy; at once while this process does not lead. */
  idle(): Promise<void>;
  /** Resolves when everything has ended after the signal. */
  readonly stopped: Promise<void>;
}

const SYNC_RETRY_MS = 1_000;

/** Runs for election until the signal is aborted. A term whose work throws is released, so that another process can try. */
export function runLeaderWork(options: LeaderWorkOptions): RunningLeaderWork {
  const { informers, requiredKinds: kinds, requiredWatches = [], signal, log, name } = options;
  const restricted = requiredWatches.map(({ ref, ...restriction }) => informers.ensure(ref, restriction));
  const handles = [...kinds.map((ref) => informers.ensure(ref)), ...restricted];
  const state: LeaderState = { run: undefined };
  const cachesSynced = waitCachesSynced(handles, signal);
  const stores = handles.map(({ store }) => store);
  const unsynced = cacheUntilStateChange(stores, () => listUnsyncedWatches(stores));
  const stopped = cachesSynced
    .then(() => runElection(options, state))
    .finally(() => {
      unsynced.close();
      for (const handle of handles) handle.release();
    });
  stopped.catch((err: unknown) => log.error({ err, lease: name }, "leader election ended"));
  return {
    name,
    isLeading: () => state.run !== undefined,
    cachesSynced,
    unsyncedWatches: unsynced.compute,
    staleKinds: () => state.run?.staleKinds() ?? [],
    idle: () => state.run?.idle() ?? Promise.resolve(),
    stopped,
  };
}

interface LeaderState {
  /** Set once the controllers of the term have started. */
  run: ControllerRun | undefined;
}

async function waitCachesSynced(handles: readonly InformerHandle<KubeObject>[], signal: AbortSignal): Promise<void> {
  for (const { store } of handles) while (!signal.aborted && !(await store.waitSynced(SYNC_RETRY_MS))) continue;
}

async function runElection(options: LeaderWorkOptions, state: LeaderState): Promise<void> {
  const { client, namespace, name, identity, signal, log, timing } = options;
  const lead = (ended: AbortSignal, term: Term): Promise<void> =>
    runTerm(options, state, ended, term).catch((err: unknown) =>
      log.error({ err, lease: name }, "the work of a term failed; leadership is released"),
    );
  await runLeaderElection({
    client,
    namespace,
    name,
    identity,
    signal,
    log,
    onStartedLeading: lead,
    ...(timing && { timing }),
  });
}

async function runTerm(options: LeaderWorkOptions, state: LeaderState, ended: AbortSignal, term: Term): Promise<void> {
  const { informers, ownership, remote, log, metrics, traces } = options;
  const client = createFencedClient(options.client, () => term.isHeld());
  const work = options.createWork(term, client);
  try {
    await work.start?.();
    const run = runControllers({
      client,
      controllers: work.controllers,
      informers,
      ownership,
      remote,
      signal: ended,
      log,
      term,
      metrics,
      traces,
    });
    run.synced.then(() => void (state.run = ended.aborted ? undefined : run)).catch(() => undefined);
    // The work may have no controllers, only start and stop.
    await Promise.all([run.stopped, untilAborted(ended)]);
  } finally {
    state.run = undefined;
    await work.stop?.();
  }
}
