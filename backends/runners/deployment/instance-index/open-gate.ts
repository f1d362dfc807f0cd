// The one request that gives a pod its index and opens its gate. Pure.
import { STABLE_LABELS } from "../../../../crds/labels.ts";
import { DELETION_COST, INDEX_GATE } from "../../../../crds/lrp/index-gate.ts";
import type { Patch } from "../../../../kube/client/client.ts";
import type { PodObject } from "../../../pods/slim-pod.ts";

/** Whether the pod waits behind our gate. */
export function isGated({ spec }: PodObject): boolean {
  return spec?.schedulingGates?.some(({ name }) => name === INDEX_GATE) ?? false;
}

/** The index that the pod's label says. */
export function indexLabelOf({ metadata }: PodObject): number | undefined {
  const label = metadata.labels?.[STABLE_LABELS.instanceIndex];
  return label !== undefined && /^\d{1,5}$/.test(label) ? Number(label) : undefined;
}

/**
 * Label, deletion cost and gate in one JSON patch. Its tests make the API server refuse it (422) once the gate is open, so a pod never
 * gets a second index; a status that changes meanwhile is no conflict.
 */
export function planGatePatch(pod: PodObject, index: number): Patch {
  const position = pod.spec?.schedulingGates?.findIndex(({ name }) => name === INDEX_GATE) ?? 0;
  const gate = `/spec/schedulingGates/${position}`;
  return {
    type: "json",
    body: [
      { op: "test", path: "/metadata/uid", value: pod.metadata.uid },
      { op: "test", path: `${gate}/name`, value: INDEX_GATE },
      ...(pod.metadata.annotations ? [] : [{ op: "add", path: "/metadata/annotations", value: {} }]),
      { op: "add", path: `/metadata/labels/${escapePath(STABLE_LABELS.instanceIndex)}`, value: String(index) },
      // The pod with the lowest cost goes first in a scale-down.
      { op: "add", path: `/metadata/annotations/${escapePath(DELETION_COST)}`, value: String(-index) },
      { op: "remove", path: gate },
    ],
  };
}

function escapePath(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
