// The GUID that a Process presents.
import { App } from "../../crds/app/app.ts";
import { Process } from "../../crds/process/process.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { resolveGUID } from "./guid.ts";

/** The web process presents its app's GUID and has no label. Any other process must not have an app's GUID, so App shares the check. */
export function resolveProcessGUID(
  process: Process,
  appGUID: string,
  context: Pick<ReconcileContext, "read">,
): { guid: string; labels: Record<string, string> } {
  return process.spec.type === "web" ? { guid: appGUID, labels: {} } : resolveGUID(Process, process, context, [App]);
}
