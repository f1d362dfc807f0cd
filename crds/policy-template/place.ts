// The place of an object: its org and space, as expressions of a policy see them through the labels of its namespace.
import { toNamespaceLabels } from "../space/namespace-labels.ts";

/** An org or a space as rules see it: its object name, and its CF labels. */
export interface Located {
  name: string;
  labels?: Record<string, string> | undefined;
}

/** Where an object is. Cluster-wide objects and those of the system namespace are in neither. */
export interface Place {
  org?: Located | undefined;
  space?: Located | undefined;
}

/** The labels of the namespace of a place. */
export function placeLabels(place: Place): Record<string, string> {
  return toNamespaceLabels(place);
}
