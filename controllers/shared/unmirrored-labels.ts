// The note on an Org or a Space with labels that its namespaces cannot mirror. Pure.
import { listUnmirroredKeys, type MIRROR_DOMAINS } from "../../crds/space/namespace-labels.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ReconcileResult } from "../../kube/controller/controller.ts";

/** How many keys the note names. */
const MAX_NAMED = 3;

/** The object works and is Ready. Only policies cannot select by these labels. */
export function planUnmirroredNote(
  of: keyof typeof MIRROR_DOMAINS,
  object: KubeObject,
): Pick<ReconcileResult, "ready"> {
  const keys = listUnmirroredKeys(of, object.metadata);
  if (keys.length === 0) return {};
  const named = keys.slice(0, MAX_NAMED).join(", ");
  const more = keys.length > MAX_NAMED ? ` and ${keys.length - MAX_NAMED} more` : "";
  return {
    ready: {
      status: "True",
      reason: "LabelNotMirrored",
      message: `policies cannot select by the label ${named}${more}: the namespace mirrors at most 100 labels, with prefixes of at most 236 characters`,
    },
  };
}
