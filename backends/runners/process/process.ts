// Runner `process`: LRPs as processes of this machine. Wires the parts together; platform/ starts and stops it.
import { setTimeout as delay } from "node:timers/promises";
import { join } from "node:path";
import pLimit from "p-limit";
import { type Controller, defineController } from "../../../kube/controller/controller.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { ObjectKey } from "../../../kube/api/object.ts";
import type { Store } from "../../../kube/cache/reader.ts";
import type { Watches } from "../../../kube/cache/informers.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import type { StatsQuery } from "../../../telemetry/envelope.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { classController, type ClassPublication } from "../../class-controller.ts";
import { readEnvironment } from "../../host/resolve-environment.ts";
import { type DropletLauncher, defaultPeriods, type Periods, type RunnerContext } from "./runner-context.ts";
import { type Inventory, takeInventory } from "./leftover-instances.ts";
import { type LrpInstances, openLrpInstances } from "./lrp-instances.ts";
import { createMeter } from "./usage-meter.ts";
import { createPortPool } from "./port-pool.ts";

/** The name of this class. */
export const processClass = "process";

/** What the class can do, as its record says. */
export const processCapabilities: Readonly<Record<string, string>> = {
  dropletKinds: "host",
  rendering: "1",
  crashBackoff: "diego",
  logStreams: "stdout,stderr",
  memoryLimit: "polled",
  diskLimit: "polled",
  isolation: "none",
};

export interface ProcessRunnerOptions {
  /** Where instances keep records, output and TMPDIR; belongs to this runner. */
  home: string;
  client: KubeClient;
  watches: Watches;
  telemetry: Telemetry;
  launcher: DropletLauncher;
  endpoint?: ClassPublication["endpoint"];
  /** Faults that no condition shows; `what` says where. */
  onError: (error: unknown, what: string) => void;
  periods?: Partial<Periods>;
  now?: () => Date;
  /** Whether this process still is the one that runs instances: asked right before each start. True unless said. */
  holds?: () => boolean;
}

export interface ProcessRunner {
  controllers: readonly Controller[];
  /** Finds the instances of an earlier run. Await it before the controllers run. */
  start(): Promise<void>;
  /** `leave`: instances run on and the next start finds them. `stop`: SIGTERM, 10 s, SIGKILL for all; resolves when none is left. */
  stop(instances: "leave" | "stop"): Promise<void>;
}

interface Runner {
  options: ProcessRunnerOptions;
  context: RunnerContext;
  held: Map<string, LrpInstances>;
  /** LRPs that are gone; their processes are being stopped. */
  leaving: Set<Promise<void>>;
  inventory: Inventory | undefined;
  wake: (key: ObjectKey) => void;
  closed: boolean;
}

/** Makes the runner; nothing happens before `start` and its controllers. */
export function createProcessRunner(options: ProcessRunnerOptions): ProcessRunner {
  const runner: Runner = { options, context: toContext(options), held: new Map(), leaving: new Set(), inventory: undefined, wake: () => undefined, closed: false };
  const cleanUp: (() => void)[] = [];
  return {
    controllers: [lrpController(runner), classController({ name: processClass, role: "runner", capabilities: processCapabilities, ...(options.endpoint && { endpoint: options.endpoint }) })],
    async start() {
      runner.inventory = await takeInventory(runner.context.instancesDir, runner.context.periods.grace);
      runner.context.ports.hold(runner.inventory.ports());
      const watch = options.watches.ensure(LRP);
      cleanUp.push(
        () => watch.release(),
        watch.store.onChange((change) => {
          // A relist may show another object of the same name.
          if (change.type === "modified" && change.old.metadata.uid !== change.object.metadata.uid) release(runner, change.old.metadata.uid ?? "");
          if (change.type === "deleted" || change.object.metadata.deletionTimestamp) release(runner, change.object.metadata.uid ?? "");
        }),
        options.telemetry.registerStats((query) => stats(runner, query)),
      );
      void endUnwanted(runner, watch.store);
    },
    async stop(instances) {
      runner.closed = true;
      for (const undo of cleanUp.splice(0)) undo();
      await Promise.all([...[...runner.held.values()].map((held) => held[instances]()), ...runner.leaving]);
      if (instances === "stop") await runner.inventory?.endUnwanted(() => false);
      runner.context.meter.close();
    },
  };
}

function toContext(options: ProcessRunnerOptions): RunnerContext {
  const { client, telemetry, launcher, onError } = options;
  return {
    instancesDir: join(options.home, "instances"),
    address: "127.0.0.1",
    telemetry,
    launcher,
    meter: createMeter({ onError: (error) => onError(error, "measuring instances") }),
    ports: createPortPool(),
    periods: { ...defaultPeriods, ...options.periods },
    now: options.now ?? (() => new Date()),
    limitStarts: pLimit(8),
    holds: options.holds ?? (() => true),
    resolveEnv: ({ metadata, spec }) => readEnvironment(client, metadata.namespace ?? "", spec.env),
    onError,
  };
}

function lrpController(runner: Runner): Controller {
  return defineController({
    name: "runner-process",
    for: LRP,
    // Values of variables lie in Secrets.
    rights: [{ on: Secret, verbs: ["get"] }],
    selects: (lrp) => lrp.spec.class === processClass,
    // Processes change without anything in the cluster changing.
    sources: [(wake) => (runner.wake = wake)],
    reconcile(lrp) {
      if (runner.closed) return {};
      const uid = lrp.metadata.uid ?? "";
      const held = runner.held.get(uid) ?? hold(runner, lrp, uid);
      if (held.lrp() !== lrp) held.desire(lrp);
      return held.status();
    },
  });
}

function hold(runner: Runner, lrp: LRP, uid: string): LrpInstances {
  const { inventory, context } = runner;
  if (!inventory) throw new Error("runner process reconciles before start() has returned");
  const { namespace, name } = lrp.metadata;
  const held = openLrpInstances({ context, lrp, takeRecord: (index) => inventory.take(uid, index), onChange: gathered(() => runner.wake({ namespace, name })) });
  runner.held.set(uid, held);
  inventory.endRest(uid).catch((error: unknown) => context.onError(error, `old instances of ${namespace}/${name}`));
  return held;
}

/** Several changes in a moment are one call, and so one write. */
function gathered(call: () => void, withinMs = 15): () => void {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      call();
    }, withinMs).unref();
  };
}

/** The LRP is gone: so are its instances, soon. */
function release(runner: Runner, uid: string): void {
  const held = runner.held.get(uid);
  runner.held.delete(uid);
  const left = (held?.stop() ?? Promise.resolve())
    // Also those of an earlier run that it had not taken up yet.
    .then(() => runner.inventory?.endRest(uid))
    .catch((error: unknown) => runner.context.onError(error, "stopping the instances of an LRP"))
    .finally(() => runner.leaving.delete(left));
  runner.leaving.add(left);
}

/** Between looks whether namespaces that are out of sight are back. */
const HIDDEN_LOOK_MS = 60_000;

/** Once every LRP is known, what an earlier run left for none of them goes. While they cannot be seen, nothing does. */
async function endUnwanted(runner: Runner, store: Store<LRP>): Promise<void> {
  while (!(await store.waitSynced(HIDDEN_LOOK_MS)) || store.holes.length > 0) {
    if (runner.closed) return;
    if (store.holes.length > 0) await delay(HIDDEN_LOOK_MS, undefined, { ref: false });
  }
  if (runner.closed) return;
  const uids = new Set(store.list().filter((lrp) => lrp.spec.class === processClass).map((lrp) => lrp.metadata.uid));
  await runner.inventory?.endUnwanted((uid) => uids.has(uid)).catch((error: unknown) => runner.context.onError(error, "instances that nobody wants"));
}

function stats(runner: Runner, query: StatsQuery): ReturnType<LrpInstances["stats"]> {
  const fits = ({ spec, metadata }: LRP): boolean =>
    (query.app === undefined || spec.app.guid === query.app) && (query.process === undefined || spec.processGUID === query.process) && (query.lrp === undefined || metadata.uid === query.lrp);
  return [...runner.held.values()].filter((held) => fits(held.lrp())).flatMap((held) => held.stats());
}
