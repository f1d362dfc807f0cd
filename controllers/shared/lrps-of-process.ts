// The LRPs of a Process on the platform's own cluster.
import { LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import type { Reader } from "../../kube/cache/reader.ts";

/** `uid` is the Process's; the LRPs are in its namespace. */
export function listLRPsOfProcess(read: Reader, { namespace, uid = "" }: { namespace?: string; uid?: string }): LRP[] {
  return read.list(LRP, { namespace, labels: { [LABELS.ownerUid]: uid } });
}
