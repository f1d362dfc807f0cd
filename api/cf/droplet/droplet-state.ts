// The CF state of a droplet. Pure.
import type { Droplet } from "../../../crds/droplet/droplet.ts";
import { isAwaitingUpload, isComplete } from "../../../crds/droplet/rules.ts";

const STATES = {
  AwaitingUpload: "AWAITING_UPLOAD",
  Staged: "STAGED",
  Failed: "FAILED",
  Expired: "EXPIRED",
} as const;
export const DROPLET_STATES = [
  "STAGING",
  "AWAITING_UPLOAD",
  "PROCESSING_UPLOAD",
  "STAGED",
  "COPYING",
  "FAILED",
  "EXPIRED",
] as const;

/** A built droplet without status yet counts as staged. */
export function dropletState(droplet: Droplet): (typeof DROPLET_STATES)[number] {
  const { spec, status } = droplet;
  if (isAwaitingUpload(droplet) && spec.buildRef === undefined) return "AWAITING_UPLOAD";
  // The status is still that of before the upload.
  if (status?.state === "AwaitingUpload") return "PROCESSING_UPLOAD";
  if (status?.state !== undefined) return STATES[status.state];
  return isComplete(droplet) ? "STAGED" : "PROCESSING_UPLOAD";
}
