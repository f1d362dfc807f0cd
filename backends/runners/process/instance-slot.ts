// An index of an LRP: starts its instance, and again after crashes, until it is stopped. Holds the instance's status.
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { toCrashLine } from "../../../crds/lrp/instance-problem.ts";
import type { LRP, LrpInstance } from "../../../crds/lrp/lrp.ts";
import { planCrash, startRetryDelay } from "./crash-backoff.ts";
import { instanceLog, type RunnerContext } from "./runner-context.ts";
import type { Usage } from "./usage-meter.ts";
import { withoutUndefined } from "../../lrp-status.ts";
import type { InstanceRecord } from "./instance-record.ts";
import { runInstance, type RunOutcome, type RunSignal } from "./run-instance.ts";

/** The instance of one index, over all its runs. */
export interface InstanceSlot {
  readonly index: number;
  /** The instance in the LRP's status. */
  status(): LrpInstance;
  usage(): Usage | undefined;
  /** The current run, started or not; undefined between two runs. */
  record(): InstanceRecord | undefined;
  /** Stops the instance and starts it again with a crash count of 0. */
  restart(value: string): void;
  /** Resolves when none of its processes is left. */
  stop(): Promise<void>;
  /** Stops watching. The instance runs on, and its record stays. */
  leave(): Promise<void>;
}

/** Input of a slot. `adopt` is the record of an instance from an earlier run of the platform. */
export interface InstanceSlotOptions {
  context: RunnerContext;
  lrp: LRP;
  index: number;
  restart: string | undefined;
  adopt?: InstanceRecord;
  onChange: () => void;
}

interface State {
  instance: LrpInstance;
  crashCount: number;
  /** Consecutive starts that failed before there was a process. */
  failures: number;
  record?: InstanceRecord;
  usage?: Usage;
  /** Aborts the current run or pause. */
  current: AbortController;
  stopSignal?: RunSignal;
}

/** Opens the slot and starts its instance at once. */
export function openInstanceSlot(options: InstanceSlotOptions): InstanceSlot {
  const { index, context } = options;
  const state: State = {
    instance: firstStatus(options),
    crashCount: options.adopt?.crashCount ?? knownStatus(options)?.crashCount ?? 0,
    failures: 0,
    current: new AbortController(),
  };
  const done = loop(options, state).catch((error: unknown) =>
    context.onError(error, `instance ${index} of ${options.lrp.metadata.name}`),
  );
  const end = (how: RunSignal): Promise<void> => {
    state.stopSignal ??= how;
    state.current.abort(how);
    return done;
  };
  return {
    index,
    status: () => state.instance,
    usage: () => state.usage,
    record: () => state.record,
    restart(value) {
      state.crashCount = 0;
      set(options, state, { restart: value, ready: false });
      state.current.abort("stop" satisfies RunSignal);
    },
    stop: () => end("stop"),
    leave: () => end("leave"),
  };
}

/** The status of this instance that an earlier run of the platform wrote. */
function knownStatus({ lrp, index, restart }: InstanceSlotOptions): LrpInstance | undefined {
  return lrp.status?.instances?.find((instance) => instance.index === index && instance.restart === restart);
}

function firstStatus(options: InstanceSlotOptions): LrpInstance {
  const { index, restart, adopt, context } = options;
  const known = knownStatus(options);
  // The adopted instance has not changed: nothing is written, and it stays in the routes.
  if (known?.guid !== undefined && known.guid === adopt?.guid) return known;
  const { state, since } = adopt ?? { state: "Starting", since: context.now().toISOString() };
  return {
    index,
    state,
    since,
    ready: false,
    ...(known?.crashCount && { crashCount: known.crashCount }),
    ...(restart !== undefined && { restart }),
  };
}

function set({ onChange }: Pick<InstanceSlotOptions, "onChange">, state: State, change: Partial<LrpInstance>): void {
  const next = { ...state.instance, ...change };
  if (isDeepStrictEqual(withoutUndefined(next), withoutUndefined(state.instance))) return;
  state.instance = next;
  onChange();
}

async function loop(options: InstanceSlotOptions, state: State): Promise<void> {
  let adopt = options.adopt;
  while (!state.stopSignal) {
    state.current = new AbortController();
    const restart = state.instance.restart;
    const end = await startAndRun(options, state, adopt).catch((error: unknown) => toRunOutcome(options, error));
    const guid = state.record?.guid ?? "";
    adopt = undefined;
    state.record = undefined;
    state.usage = undefined;
    if (end.kind === "left") return;
    // After a restart of the instance, requested before or during its end, the next run starts without a pause.
    if (end.kind !== "stopped" && !state.stopSignal && restart === state.instance.restart)
      await afterCrash(options, state, { ...end, guid });
  }
}

async function startAndRun(
  options: InstanceSlotOptions,
  state: State,
  adopt: InstanceRecord | undefined,
): Promise<RunOutcome> {
  state.record = adopt ?? (await newRecord(options, state));
  if (state.stopSignal) state.current.abort(state.stopSignal);
  return runOnce(options, state, state.record);
}

/** A full disk or a lack of ports: the start is retried with back-off. */
function toRunOutcome({ context, index, lrp }: InstanceSlotOptions, error: unknown): RunOutcome {
  context.onError(error, `instance ${index} of ${lrp.metadata.namespace}/${lrp.metadata.name}`);
  return { kind: "unstartable", details: error instanceof Error ? error.message : String(error), ranMs: 0 };
}

async function runOnce(options: InstanceSlotOptions, state: State, record: InstanceRecord): Promise<RunOutcome> {
  const { context, lrp } = options;
  const recovery = forgetCrashesLater(options, state);
  const publish = (now: InstanceRecord): void => {
    set(options, state, presentInstance(context, now));
    recovery.observe(now);
  };
  publish(record);
  const run = runInstance({
    context,
    lrp,
    record,
    signal: state.current.signal,
    events: {
      onRecord: publish,
      onReady: (ready) => set(options, state, { ready }),
      onWaiting: (details) => set(options, state, { details }),
      onUsage: (usage) => (state.usage = usage),
    },
  });
  return run.finally(() => recovery.end());
}

/** A long healthy run ends the count of crashes, and the status shows it, so that the next crash is seen as one more. */
function forgetCrashesLater(
  options: InstanceSlotOptions,
  state: State,
): { observe: (record: InstanceRecord) => void; end: () => void } {
  const { now, timings } = options.context;
  let timer: NodeJS.Timeout | undefined;
  const forget = (): void => {
    state.crashCount = 0;
    set(options, state, { crashCount: undefined });
  };
  return {
    observe(record) {
      if (record.state !== "Running" || state.crashCount === 0 || timer) return;
      const ranMs = now().getTime() - Date.parse(record.since);
      timer = setTimeout(forget, Math.max(0, timings.recovery - ranMs)).unref();
    },
    end: () => clearTimeout(timer),
  };
}

async function newRecord({ context, lrp, index }: InstanceSlotOptions, state: State): Promise<InstanceRecord> {
  const now = context.now().toISOString();
  const hostPorts = await context.ports.allocate(lrp.spec.ports.length);
  return {
    lrp: { namespace: lrp.metadata.namespace ?? "", name: lrp.metadata.name, uid: lrp.metadata.uid ?? "" },
    index,
    guid: randomUUID(),
    ports: lrp.spec.ports.map((port, i) => ({ port, hostPort: hostPorts[i] ?? 0 })),
    root: lrp.spec.droplet.root ?? "",
    state: "Starting",
    since: now,
    startedAt: now,
    crashCount: state.crashCount,
    ...(state.instance.restart !== undefined && { restart: state.instance.restart }),
  };
}

async function afterCrash(
  options: InstanceSlotOptions,
  state: State,
  end: Extract<RunOutcome, { details: string }> & { guid: string },
): Promise<void> {
  const { context } = options;
  const pauseMs = planPause(options, state, end);
  const where = {
    ready: false,
    since: context.now().toISOString(),
    details: end.details,
    host: undefined,
    ports: undefined,
    guid: undefined,
  };
  set(options, state, {
    // A refused instance is Crashed, not Down: cf waits for instances that are down.
    state: end.kind === "unstartable" ? "Down" : "Crashed",
    ...(state.crashCount > 0 && { crashCount: state.crashCount }),
    ...where,
  });
  state.current = new AbortController();
  // A restart or a stop aborts the pause.
  await delay(context.timings.backoff(pauseMs), undefined, { signal: state.current.signal, ref: false }).catch(
    () => undefined,
  );
}

function planPause(
  options: InstanceSlotOptions,
  state: State,
  end: Extract<RunOutcome, { details: string }> & { guid: string },
): number {
  if (end.kind === "crashed") return recordCrash(options, state, end);
  // The LRP is immutable, so only a restart of the instance or the app can help.
  return end.kind === "refused" ? foreverMs : startRetryDelay(++state.failures);
}

/** Counts and logs the crash, and returns the pause before the next start. */
function recordCrash(
  { context, lrp, index }: InstanceSlotOptions,
  state: State,
  end: { ranMs: number; guid: string },
): number {
  const plan = planCrash(state.crashCount, end.ranMs);
  state.crashCount = plan.crashCount;
  state.failures = 0;
  instanceLog(context.telemetry, lrp, index, end.guid)("API", toCrashLine(lrp.spec.processType));
  return plan.delayMs ?? foreverMs;
}

/** The longest timeout of a timer, 24 days. */
const foreverMs = 2 ** 31 - 1;

/** Host, ports and GUID are published when the instance is up, so that a start costs one write. */
function presentInstance(context: RunnerContext, { state, since, guid, ports }: InstanceRecord): Partial<LrpInstance> {
  if (state === "Starting") return { state, since, ready: false, guid: undefined, host: undefined, ports: undefined };
  return { state, since, guid, details: undefined, host: context.address, ports: ports.length > 0 ? ports : undefined };
}
