// The CF state of a package.
import type { Package } from "../../../crds/package/package.ts";

export const PACKAGE_STATES = [
  "AWAITING_UPLOAD",
  "PROCESSING_UPLOAD",
  "READY",
  "FAILED",
  "COPYING",
  "EXPIRED",
] as const;

const STATES = {
  AwaitingUpload: "AWAITING_UPLOAD",
  ProcessingUpload: "PROCESSING_UPLOAD",
  Ready: "READY",
  Failed: "FAILED",
  Expired: "EXPIRED",
} as const;

/** The CF state; derived from the spec until a controller has set the status. */
export function toPackageState(found: Package): (typeof PACKAGE_STATES)[number] {
  const state = found.status?.state && STATES[found.status.state];
  if (found.spec.type === "docker") return state ?? "READY";
  // Until the controller has observed new content, the package is processing, whatever the old status says.
  if (found.spec.content) return state === undefined || state === "AWAITING_UPLOAD" ? "PROCESSING_UPLOAD" : state;
  return state ?? "AWAITING_UPLOAD";
}
