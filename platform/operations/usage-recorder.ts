// Records usage events, on the leader only: compares what runs with what the log says runs, at the start and with each change.
import type { Logger } from "pino";
import { createUsageLedger, type Usage, type UsageLedger } from "../../controllers/usage-log/usage-log.ts";
import {
  observeBuild,
  observeProcess,
  observeTask,
  USAGE_KINDS,
  type Seen,
} from "../../controllers/usage-log/observe.ts";
import { App } from "../../crds/app/app.ts";
import { Build } from "../../crds/build/build.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { guidOf } from "../../crds/guid.ts";
import { Process } from "../../crds/process/process.ts";
import { isFinished } from "../../crds/task/sequence.ts";
import { Task } from "../../crds/task/task.ts";
import { processGUID } from "../../crds/usage-log/process-usage.ts";
import { listOpenUsage, usageKey } from "../../crds/usage-log/rules.ts";
import { UsageLog, type AppUsageEvent } from "../../crds/usage-log/usage-log.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { isUnreadable } from "../../kube/cache/errors.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Change } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { createUsageWriter } from "../../telemetry/audit/usage-writer.ts";
import type { PeriodicTask } from "../leases/singletons.ts";
import { runUsageRecording, type ComparingRecorder, type UsageRecorderOptions } from "./usage-recording.ts";

export const USAGE_RECORDER_KINDS: readonly ResourceRef[] = [Process, Task, Build, UsageLog, ...USAGE_KINDS];
export const USAGE_RECORDER_PERMISSIONS: readonly Permission[] = [
  { resource: UsageLog, verbs: ["create", "patch", "delete"] },
];

/** Index of Processes by `namespace/app`. */
const APP_INDEX = "usage/app";

export function createUsageRecorder(options: UsageRecorderOptions): PeriodicTask {
  return { reads: USAGE_RECORDER_KINDS, start: (signal, client) => record(options, client, signal) };
}

function record(options: UsageRecorderOptions, client: KubeClient, signal: AbortSignal): Promise<void> {
  const { informers, log, writer: name } = options;
  const writer = createUsageWriter({ client, writer: name, log });
  const recorder = new Recorder(informers, log, (event) => writer.record(SYSTEM_NAMESPACE, event));
  const subscriptions = [
    informers.store(Process).onChange((change) => recorder.processChanged(change)),
    informers.store(App).onChange((change) => recorder.appChanged(change)),
    informers.store(Task).onChange((change) => recorder.changed(change, Task)),
    informers.store(Build).onChange((change) => recorder.changed(change, Build)),
  ];
  const kind = { ref: UsageLog, listOpen: listOpenUsage };
  return runUsageRecording({ kind, writer, recorder, subscriptions }, options, { client, signal });
}

class Recorder implements ComparingRecorder {
  private readonly ledger: UsageLedger = createUsageLedger(() => new Date());
  /** By uid of a process, task or build that was seen: its key in the ledger. */
  private readonly keys = new Map<string, string>();
  /** By uid: tries that lacked a space or an org, to be made again. */
  private readonly waiting = new Map<string, () => void>();
  private isStale = true;
  private readonly informers: Informers;
  private readonly log: Logger;
  private readonly emit: (event: AppUsageEvent) => void;
  /** The last error that was logged: each try meets it again. */
  private loggedError = "";

  constructor(informers: Informers, log: Logger, emit: (event: AppUsageEvent) => void) {
    this.informers = informers;
    this.log = log;
    this.emit = emit;
    informers.store(Process).addIndex(APP_INDEX, ({ metadata, spec }) => [`${metadata.namespace}/${spec.appRef.name}`]);
  }

  restart(): void {
    this.isStale = true;
  }

  /** A look that lacks an object is repeated at the next retry. */
  retry(): void {
    this.attempt(() => {
      if (this.isStale) this.compareAll();
      const looks = [...this.waiting.values()];
      this.waiting.clear();
      for (const look of looks) look();
    });
  }

  processChanged(change: Change<Process>): void {
    if (change.type === "modified" && !change.evicted && !isOtherProcess(change.old, change.object)) return;
    this.changed(change, Process);
  }

  appChanged(change: Change<App>): void {
    if (change.type === "modified" && !change.evicted && !isOtherApp(change.old, change.object)) return;
    const { namespace = "", name } = change.object.metadata;
    this.attempt(() => {
      const processes = this.informers.read.byIndex(Process, APP_INDEX, `${namespace}/${name}`, namespace);
      for (const process of processes) this.look(Process, process, false);
    });
  }

  changed<T extends Process | Task | Build>(change: Change<T>, ref: ResourceRef<T>): void {
    this.attempt(() => {
      if (change.type === "deleted") return this.end(change.object);
      const wasUnderWay = change.type === "modified" && !change.evicted && isUnderWay(change.old);
      this.look(ref, change.object, wasUnderWay);
    });
  }

  /** An unreadable object does not count as ended: everything is compared later. */
  private attempt(look: () => void): void {
    try {
      look();
    } catch (err) {
      this.isStale = true;
      if (isUnreadable(err) || this.loggedError === String(err)) return;
      this.loggedError = String(err);
      this.log.error({ err }, "usage events wait: the comparison with the usage log fails and is tried again");
    }
  }

  private compareAll(): void {
    const { read } = this.informers;
    const events = read.list(UsageLog, { namespace: SYSTEM_NAMESPACE }).flatMap(({ spec }) => spec.events);
    const running = [Process, Task, Build].map((ref) => [ref, read.list(ref as ResourceRef)] as const);
    this.ledger.load(events);
    this.waiting.clear();
    for (const [ref, objects] of running) for (const object of objects) this.look(ref as ResourceRef, object, false);
    const seen = new Set(this.keys.values());
    for (const key of this.ledger.openKeys()) if (!seen.has(key)) this.emitAll(this.ledger.end(key));
    this.isStale = false;
    this.loggedError = "";
  }

  private look(ref: ResourceRef, object: KubeObject, wasUnderWay: boolean): void {
    const { uid = "" } = object.metadata;
    const usage = observe(this.informers, object, wasUnderWay);
    if (usage === "gone") return this.end(object);
    if (usage === "waiting") {
      const again = (): void => {
        const current = this.informers.read.byUid(ref, uid);
        if (current) this.look(ref, current, wasUnderWay);
      };
      this.waiting.set(uid, again);
      // It may be in the log, and has not ended.
      this.keys.set(uid, keyOf(this.informers, object));
      return;
    }
    this.waiting.delete(uid);
    this.keys.set(uid, usageKey(usage));
    this.emitAll(this.ledger.observe(usage, versionOf(this.informers, object)));
  }

  private end({ metadata: { uid = "" } }: KubeObject): void {
    this.waiting.delete(uid);
    const key = this.keys.get(uid);
    this.keys.delete(uid);
    if (key !== undefined) this.emitAll(this.ledger.end(key));
  }

  private emitAll(events: readonly AppUsageEvent[]): void {
    for (const event of events) this.emit(event);
  }
}

function observe({ read }: Informers, object: KubeObject, wasUnderWay: boolean): Seen<Usage> {
  if (object.kind === Process.kind) return observeProcess(read, object as Process);
  if (object.kind === Task.kind) return observeTask(read, object as Task, wasUnderWay);
  return observeBuild(read, object as Build, wasUnderWay);
}

/** The `usageKey` of an object whose usage need not be known. */
function keyOf({ read }: Informers, object: KubeObject): string {
  const guid = guidOf(object);
  if (object.kind === Task.kind) return usageKey({ task: { guid } });
  if (object.kind === Build.kind) return usageKey({ build: { guid } });
  const process = object as Process;
  const app = read.find(App, { namespace: process.metadata.namespace ?? "", name: process.spec.appRef.name });
  return usageKey({ process: { guid: app ? processGUID(process, app) : guid } });
}

/** Version of a process: changes with its spec and its app's. */
function versionOf({ read }: Informers, object: KubeObject): string {
  if (object.kind !== Process.kind) return "";
  const { metadata, spec } = object as Process;
  const app = read.find(App, { namespace: metadata.namespace ?? "", name: spec.appRef.name });
  return `${app?.metadata.generation ?? 0}.${metadata.generation ?? 0}`;
}

function isUnderWay(object: Process | Task | Build): boolean {
  if (object.kind === Task.kind) return !isFinished(object as Task);
  const { state = "Staging" } = ((object as Build).status ?? {}) as { state?: string };
  return state === "Staging";
}

function isOtherProcess(old: Process, now: Process): boolean {
  return old.metadata.generation !== now.metadata.generation || isEnding(old) !== isEnding(now);
}

function isOtherApp(old: App, now: App): boolean {
  return old.spec.state !== now.spec.state || isEnding(old) !== isEnding(now);
}

function isEnding({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}
