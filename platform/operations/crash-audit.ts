// Records crashes of instances as audit events, on the leader only.
import type { Logger } from "pino";
import { listCrashEvents } from "../../controllers/audit-log/crash-events.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createAuditWriter } from "../../telemetry/audit/audit-writer.ts";
import type { PeriodicTask } from "../leases/singletons.ts";

export interface CrashAuditOptions {
  client: KubeClient;
  informers: Informers;
  log: Logger;
  /** Name of this process. */
  writer: string;
}

/** A crash while no process leads is not recorded: `cf app` still shows it. */
export function createCrashAudit({ client, informers, log, writer }: CrashAuditOptions): PeriodicTask {
  return {
    reads: [LRP],
    start(signal) {
      const audit = createAuditWriter({ client, writer, log });
      const unsubscribe = informers.store(LRP).onChange((change) => {
        if (change.type !== "modified" || change.initial || change.evicted) return;
        const { object, old } = change;
        for (const event of listCrashEvents(old, object, new Date()))
          audit.record(object.metadata.namespace ?? "", event);
      });
      signal.addEventListener("abort", () => {
        unsubscribe();
        void audit.close();
      });
    },
  };
}
