// Work with side effects, done by one process of many: its caches are warm before the election, it begins with the term and has ended before the next one's.
import type { Logger } from "pino";
import { untilAborted } from "../client/backoff.ts";
import type { KubeClient } from "../client/client.ts";
import type { Controller, Platform } from "../controller/controller.ts";
import { fencedClient } from "./fenced-client.ts";
import { type LeaderTiming, runLeader, type Term } from "./leader-election.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import { type ControllerRun, runControllers } from "../controller/run-controllers.ts";
import { gapsOf, untilSightChanges, type WatchGap } from "../cache/unsynced-watches.ts";
import type { WatchHandle, Watches } from "../cache/informers.ts";
import type { KubeObject } from "../api/object.ts";

/** What the leader does. */
export interface Office {
  controllers: readonly Controller[];
  /** Before the controllers run. */
  start?(): Promise<void> | void;
  /** After the controllers have stopped; the next leader waits for it. */
  stop?(): Promise<void> | void;
}

export interface ElectedOptions {
  client: KubeClient;
  watches: Watches;
  platform: Platform;
  namespace: string;
  /** Name of the Lease. */
  name: string;
  identity: string;
  /** Kinds that must be in the cache before this process stands for election. */
  warm: readonly ResourceRef[];
  /** Called at the beginning of each term. `client` writes only while the term lasts. */
  open: (term: Term, client: KubeClient) => Office;
  /** Aborting it ends the term, if there is one, and the candidacy. */
  signal: AbortSignal;
  log: Logger;
  timing?: Partial<LeaderTiming>;
}

export interface Elected {
  readonly name: string;
  /** This process leads, and its controllers have begun. */
  leading(): boolean;
  /** The caches are filled: this process could take over at once. Pending as long as a watch is parked. */
  readonly warm: Promise<void>;
  /** Kinds whose cache is not filled. The very same array while nothing changes. */
  waiting(): readonly WatchGap[];
  /** As in ControllerRun; of none where this process does not lead. */
  behind(): readonly string[];
  /** No work in hand; at once where this process does not lead. */
  idle(): Promise<void>;
  /** All has ended after the signal. */
  readonly stopped: Promise<void>;
}

const COLD_LOOK_MS = 1_000;

/** Stands for election until the signal is aborted. A term whose work fails is given up, and another process may try. */
export function runElected(options: ElectedOptions): Elected {
  const { watches, warm: kinds, signal, log, name } = options;
  const handles = kinds.map((ref) => watches.ensure(ref));
  const state: State = { run: undefined };
  const warm = untilWarm(handles, signal);
  const stores = handles.map(({ store }) => store);
  const waiting = untilSightChanges(stores, () => gapsOf(stores));
  const stopped = warm
    .then(() => compete(options, state))
    .finally(() => {
      waiting.close();
      for (const handle of handles) handle.release();
    });
  stopped.catch((err: unknown) => log.error({ err, lease: name }, "leader election ended"));
  return {
    name,
    leading: () => state.run !== undefined,
    warm,
    waiting: waiting.look,
    behind: () => state.run?.behind() ?? [],
    idle: () => state.run?.idle() ?? Promise.resolve(),
    stopped,
  };
}

interface State {
  /** Set once the controllers of a term have begun. */
  run: ControllerRun | undefined;
}

async function untilWarm(handles: readonly WatchHandle<KubeObject>[], signal: AbortSignal): Promise<void> {
  for (const { store } of handles) while (!signal.aborted && !(await store.waitSynced(COLD_LOOK_MS))) continue;
}

async function compete(options: ElectedOptions, state: State): Promise<void> {
  const { client, namespace, name, identity, signal, log, timing } = options;
  const lead = (over: AbortSignal, term: Term): Promise<void> => serve(options, state, over, term).catch((err: unknown) => log.error({ err, lease: name }, "the work of a term failed; leading is given up"));
  await runLeader({ client, namespace, name, identity, signal, log, lead, ...(timing && { timing }) });
}

async function serve(options: ElectedOptions, state: State, over: AbortSignal, term: Term): Promise<void> {
  const { watches, platform, log } = options;
  const client = fencedClient(options.client, () => term.holds());
  const office = options.open(term, client);
  try {
    await office.start?.();
    const run = runControllers({ client, controllers: office.controllers, watches, platform, signal: over, log, term });
    run.synced.then(() => void (state.run = over.aborted ? undefined : run)).catch(() => undefined);
    // An office may have no controllers, and still something to do.
    await Promise.all([run.stopped, untilAborted(over)]);
  } finally {
    state.run = undefined;
    await office.stop?.();
  }
}
