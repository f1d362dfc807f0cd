// Event exists in two groups over one store: core/v1 is what is stored, events.k8s.io/v1 another way to write the same fields.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { JsonMap } from "../apply/values.ts";

/** Field in core/v1 to field in events.k8s.io/v1. */
const RENAMED: [string, string][] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["reportingComponent", "reportingController"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
];

function rename(object: KubeObject, names: Map<string, string>, apiVersion: string): KubeObject {
  const out: JsonMap = {};
  for (const [key, value] of Object.entries(object)) out[names.get(key) ?? key] = value;
  return { ...out, apiVersion, kind: "Event", metadata: object.metadata };
}

const toNew = new Map(RENAMED);
const toCore = new Map(RENAMED.map(([core, other]) => [other, core]));

export const eventFromCore = (object: KubeObject): KubeObject => rename(object, toNew, "events.k8s.io/v1");
export const eventToCore = (object: KubeObject): KubeObject => rename(object, toCore, "v1");
