// Which usage events follow from what runs now and what was recorded last, with CF's states and values. Pure.
import { deriveGUID } from "../guid.ts";
import type { AppUsageEvent } from "./usage-log.ts";

/** An event that has no place in the log yet. */
export type UsageDraft = Omit<AppUsageEvent, "guid" | "sequence" | "at">;

/** Any of these. */
interface UsageParts {
  process?: { guid: string } | undefined;
  task?: { guid: string } | undefined;
  build?: { guid: string } | undefined;
}

type Place = Pick<AppUsageEvent, "app" | "space" | "orgGUID" | "buildpack">;

/** A process as it should run now. */
export interface ProcessUsage extends Place {
  process: NonNullable<AppUsageEvent["process"]>;
  isStarted: boolean;
  instances: number;
  memoryMB: number;
  packageState: string;
}

export interface TaskUsage extends Place {
  task: NonNullable<AppUsageEvent["task"]>;
  memoryMB: number;
  /** `ended` only when it has run. */
  phase: "waiting" | "running" | "ended";
}

export interface BuildUsage extends Place {
  build: NonNullable<AppUsageEvent["build"]>;
  memoryMB: number;
  phase: "staging" | "staged" | "failed";
}

/** States after which something still runs. */
const OPEN: ReadonlySet<string> = new Set(["STARTED", "TASK_STARTED", "STAGING_STARTED"]);

/** Names the process, task or build of an event, or of what is seen to run. */
export function usageKey({ process, task, build }: UsageParts): string {
  return process ? `process ${process.guid}` : task ? `task ${task.guid}` : `build ${build?.guid ?? ""}`;
}

/** The last event of everything that still runs, by `usageKey`. Events in any order. */
export function listOpenUsage(events: readonly AppUsageEvent[]): Map<string, AppUsageEvent> {
  return new Map([...lastEvents(events, usageKey)].filter(([, event]) => OPEN.has(event.state.current)));
}

/** An event of any usage log. */
export interface PlacedEvent {
  guid: string;
  sequence: number;
}

/** The last event about each thing. Events in any order. */
export function lastEvents<Event extends PlacedEvent>(
  events: readonly Event[],
  keyOf: (event: Event) => string,
): Map<string, Event> {
  const last = new Map<string, Event>();
  for (const event of events) {
    const key = keyOf(event);
    if ((last.get(key)?.sequence ?? 0) < event.sequence) last.set(key, event);
  }
  return last;
}

/** `open` is the event of its start; `now` is undefined when the process is gone. */
export function planProcessUsage(open: AppUsageEvent | undefined, now: ProcessUsage | undefined): UsageDraft[] {
  if (!now?.isStarted) return open ? [stop(open, now)] : [];
  const { isStarted: _started, instances, memoryMB, packageState, ...rest } = now;
  const before = open
    ? { state: "STARTED", instances: open.instances.current, memoryMB: open.memoryMB.current }
    : { state: "STOPPED", instances, memoryMB };
  if (open && before.instances === instances && before.memoryMB === memoryMB) return [];
  return [
    {
      ...rest,
      state: { current: "STARTED", previous: before.state },
      instances: { current: instances, previous: before.instances },
      memoryMB: { current: memoryMB, previous: before.memoryMB },
      packageState: { current: packageState, previous: "UNKNOWN" },
    },
  ];
}

function stop(open: AppUsageEvent, now: ProcessUsage | undefined): UsageDraft {
  const { app, space, instances, memoryMB, packageState } = now ?? {
    ...open,
    instances: open.instances.current,
    memoryMB: open.memoryMB.current,
    packageState: open.packageState.current,
  };
  return {
    ...toDraft(open),
    app,
    space,
    state: { current: "STOPPED", previous: "STARTED" },
    instances: { current: instances, previous: open.instances.current },
    memoryMB: { current: memoryMB, previous: open.memoryMB.current },
    packageState: { current: packageState, previous: "UNKNOWN" },
  };
}

/** A task that ended between two looks has a start and an end; one that is gone ends what was started. */
export function planTaskUsage(open: AppUsageEvent | undefined, now: TaskUsage | undefined): UsageDraft[] {
  const hasEnded = now === undefined || now.phase === "ended";
  const starts = !open && now && now.phase !== "waiting" ? [toTaskStart(now)] : [];
  const [started = open] = starts;
  const ends = hasEnded && started ? [withState(started, "TASK_STOPPED", "RUNNING")] : [];
  return [...starts, ...ends];
}

function toTaskStart({ phase: _phase, memoryMB, ...rest }: TaskUsage): UsageDraft {
  return {
    ...rest,
    state: { current: "TASK_STARTED", previous: "PENDING" },
    instances: { current: 1, previous: 1 },
    memoryMB: { current: memoryMB, previous: memoryMB },
    packageState: { current: "STAGED", previous: "STAGED" },
  };
}

/** As a task's. A build that succeeds also sets the buildpack. */
export function planBuildUsage(open: AppUsageEvent | undefined, now: BuildUsage | undefined): UsageDraft[] {
  const starts = !open && now ? [toBuildStart(now)] : [];
  const [started = open] = starts;
  if (!started || now?.phase === "staging") return starts;
  return [...starts, ...toBuildEnd(started, now)];
}

function toBuildEnd(started: UsageDraft | AppUsageEvent, now: BuildUsage | undefined): UsageDraft[] {
  const { phase, buildpack = started.buildpack } = now ?? { phase: "failed" };
  const stopped = withState({ ...started, ...(buildpack && { buildpack }) }, "STAGING_STOPPED", "STAGING");
  return phase === "staged" ? [stopped, withState(stopped, "BUILDPACK_SET", "STAGED")] : [stopped];
}

function toBuildStart({ phase: _phase, memoryMB, ...rest }: BuildUsage): UsageDraft {
  return {
    ...rest,
    state: { current: "STAGING_STARTED", previous: "STAGING" },
    instances: { current: 1, previous: 1 },
    memoryMB: { current: memoryMB, previous: memoryMB },
    packageState: { current: "READY", previous: "READY" },
  };
}

function withState(event: UsageDraft | AppUsageEvent, current: string, previous: string): UsageDraft {
  return { ...toDraft(event), state: { current, previous } };
}

function toDraft(event: UsageDraft | AppUsageEvent): UsageDraft {
  const { guid: _guid, sequence: _sequence, at: _at, ...draft } = event as AppUsageEvent;
  return draft;
}

/**
 * Gives a draft its place. Two leaders that see the same change after the same event give it the same GUID, and readers show it once; `version`
 * tells starts of the same process apart.
 */
export function toUsageEvent(
  draft: UsageDraft,
  { open, version, sequence, now }: { open: AppUsageEvent | undefined; version: string; sequence: number; now: Date },
): AppUsageEvent {
  const { state, instances, memoryMB } = draft;
  const what = [usageKey(draft), state.current, String(instances.current), String(memoryMB.current)];
  const guid = deriveGUID("usage", open?.guid ?? "", version, ...what);
  return { guid, sequence, at: now.toISOString(), ...draft };
}

/** The events with which a purged log begins: one for each process that runs, with its GUID, as in CF. */
export function seedUsage(running: readonly ProcessUsage[], sequence: number, now: Date): AppUsageEvent[] {
  return running
    .flatMap((usage) => planProcessUsage(undefined, usage))
    .map((draft, at) => ({
      guid: draft.process?.guid ?? "",
      sequence: sequence + at,
      at: now.toISOString(),
      ...draft,
      state: { current: "STARTED", previous: "STARTED" },
    }));
}

/** Events of all segments in their order, each once: one whose first write had no answer may be in two segments. */
export function sortUsage<Event extends PlacedEvent>(events: readonly Event[]): Event[] {
  const sorted = events.toSorted(
    (one, other) => one.sequence - other.sequence || (one.guid < other.guid ? -1 : one.guid > other.guid ? 1 : 0),
  );
  const seen = new Set<string>();
  return sorted.filter(({ guid }) => !seen.has(guid) && seen.add(guid));
}
