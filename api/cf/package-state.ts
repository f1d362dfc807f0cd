// In which of CF's states a package is.
import type { Package } from "../../crds/package/package.ts";

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

/** The CF state; before a controller has looked: what the spec says. */
export function toPackageState(found: Package): (typeof PACKAGE_STATES)[number] {
  const state = found.status?.state && STATES[found.status.state];
  if (found.spec.type === "docker") return state ?? "READY";
  // Content that the controller has not seen yet is being looked at, whatever its last word was.
  if (found.spec.content) return state === undefined || state === "AWAITING_UPLOAD" ? "PROCESSING_UPLOAD" : state;
  return state ?? "AWAITING_UPLOAD";
}
