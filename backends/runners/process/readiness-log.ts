// Log lines of the app's readiness check, in Diego's words.
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { InstanceRecord } from "./instance-record.ts";
import type { InstanceLog } from "./runner-context.ts";

/** The instance whose check it is. */
export interface CheckedInstance {
  lrp: { spec: { readinessHealthCheck: Pick<LRP["spec"]["readinessHealthCheck"], "type"> } };
  record: Pick<InstanceRecord, "state">;
  log: InstanceLog;
}

/** Returns what to call with each result; it logs those that are news. Silent without a check of its own. */
export function readinessLog({ lrp, record, log }: CheckedInstance): (ready: boolean, why?: string) => void {
  if (lrp.spec.readinessHealthCheck.type === "process") return () => undefined;
  // An instance that runs since before a restart of the platform was logged then.
  let logged = record.state === "Running" ? true : undefined;
  return (ready, why) => {
    if (ready === logged) return;
    if (ready) log("CELL", PASSED);
    else log("CELL", `${logged ? FAILED : "Container is not ready yet."} ${why ?? ""}`.trimEnd(), { stream: "ERR" });
    logged = ready;
  };
}

const PASSED = "Container passed the readiness health check. Container marked ready and added to route pool.";
const FAILED = "Container failed the readiness health check. Container marked not ready and removed from route pool.";
