// Tells the changes of objects that matter to a controller from all others.
import type { KubeObject } from "../../kube/api/object.ts";
import { hasReached } from "../../kube/api/resource-version.ts";

/** A function for map functions: false for a change that leaves the facts as they are. For kinds of one namespace, or of none. */
export function createFactFilter<T extends KubeObject>(factsOf: (object: T) => unknown): (object: T) => boolean {
  const last = new Map<string, { version: string; facts: string }>();
  return (object) => {
    const { name, resourceVersion: version = "" } = object.metadata;
    const known = last.get(name);
    if (known && hasReached(known.version, version)) return false;
    const facts = JSON.stringify(factsOf(object));
    last.set(name, { version, facts });
    return known?.facts !== facts;
  };
}
