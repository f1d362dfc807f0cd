// Records usage events of service instances, on the leader only: compares those that exist with the log, at the start and with each change.
import type { Logger } from "pino";
import { observeInstance, SERVICE_USAGE_KINDS } from "../../controllers/service-usage-log/service-usage-log.ts";
import { createServiceUsageLedger } from "../../controllers/service-usage-log/plan.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { guidOf } from "../../crds/guid.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { listOpenServiceUsage } from "../../crds/service-usage-log/rules.ts";
import { ServiceUsageLog, type ServiceUsageEvent } from "../../crds/service-usage-log/service-usage-log.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { isUnreadable } from "../../kube/cache/errors.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Change } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { createServiceUsageWriter } from "../../telemetry/audit/usage-writer.ts";
import type { PeriodicTask } from "../leases/singletons.ts";
import { runUsageRecording, type ComparingRecorder, type UsageRecorderOptions } from "./usage-recording.ts";

export const SERVICE_USAGE_RECORDER_KINDS: readonly ResourceRef[] = [
  ServiceInstance,
  ServiceUsageLog,
  ...SERVICE_USAGE_KINDS,
];
export const SERVICE_USAGE_RECORDER_PERMISSIONS: readonly Permission[] = [
  { resource: ServiceUsageLog, verbs: ["create", "patch", "delete"] },
];

export function createServiceUsageRecorder(options: UsageRecorderOptions): PeriodicTask {
  return { reads: SERVICE_USAGE_RECORDER_KINDS, start: (signal, client) => record(options, client, signal) };
}

function record(options: UsageRecorderOptions, client: KubeClient, signal: AbortSignal): Promise<void> {
  const { informers, log, writer: name } = options;
  const writer = createServiceUsageWriter({ client, writer: name, log });
  const recorder = new ServiceRecorder(informers, log, (event) => writer.record(SYSTEM_NAMESPACE, event));
  const subscriptions = [informers.store(ServiceInstance).onChange((change) => recorder.changed(change))];
  const kind = { ref: ServiceUsageLog, listOpen: listOpenServiceUsage };
  return runUsageRecording({ kind, writer, recorder, subscriptions }, options, { client, signal });
}

class ServiceRecorder implements ComparingRecorder {
  private readonly ledger = createServiceUsageLedger(() => new Date());
  /** Uids of instances that could not be judged yet. */
  private readonly waiting = new Set<string>();
  private isStale = true;
  private readonly informers: Informers;
  private readonly log: Logger;
  private readonly emit: (event: ServiceUsageEvent) => void;
  /** The last error that was logged: each try meets it again. */
  private loggedError = "";

  constructor(informers: Informers, log: Logger, emit: (event: ServiceUsageEvent) => void) {
    this.informers = informers;
    this.log = log;
    this.emit = emit;
  }

  restart(): void {
    this.isStale = true;
  }

  retry(): void {
    this.attempt(() => {
      if (this.isStale) return this.compareAll();
      for (const uid of [...this.waiting]) {
        const instance = this.informers.read.byUid(ServiceInstance, uid);
        if (instance) this.look(instance);
        else this.waiting.delete(uid);
      }
    });
  }

  changed({ type, object }: Change<ServiceInstance>): void {
    this.attempt(() => {
      if (type !== "deleted") return this.look(object);
      this.waiting.delete(object.metadata.uid ?? "");
      this.emitSome(this.ledger.end(guidOf(object)));
    });
  }

  /** An unreadable object does not count as deleted: everything is compared later. */
  private attempt(look: () => void): void {
    try {
      look();
    } catch (err) {
      this.isStale = true;
      if (isUnreadable(err) || this.loggedError === String(err)) return;
      this.loggedError = String(err);
      this.log.error({ err }, "service usage events wait: the comparison with their log fails and is tried again");
    }
  }

  private compareAll(): void {
    const { read } = this.informers;
    this.ledger.load(read.list(ServiceUsageLog, { namespace: SYSTEM_NAMESPACE }).flatMap(({ spec }) => spec.events));
    this.waiting.clear();
    const instances = read.list(ServiceInstance);
    for (const instance of instances) this.look(instance);
    const seen = new Set(instances.map((instance) => guidOf(instance)));
    for (const guid of this.ledger.openKeys()) if (!seen.has(guid)) this.emitSome(this.ledger.end(guid));
    this.isStale = false;
    this.loggedError = "";
  }

  private look(instance: ServiceInstance): void {
    const { uid = "" } = instance.metadata;
    const usage = observeInstance(this.informers.read, instance);
    if (usage === "waiting") return void this.waiting.add(uid);
    this.waiting.delete(uid);
    this.emitSome(this.ledger.observe(usage));
  }

  private emitSome(event: ServiceUsageEvent | undefined): void {
    if (event) this.emit(event);
  }
}
