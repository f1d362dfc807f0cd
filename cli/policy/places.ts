// The org and space of objects in files: their namespaces, and the labels that constraints match by. Pure.
import type { KubeObject } from "../../kube/api/object.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { KindDefinition } from "../../crds/kind.ts";
import { objectNameFor } from "../../crds/object-names.ts";
import { toNamespaceLabels } from "../../crds/space/namespace-labels.ts";
import { STABLE_LABELS } from "../../crds/labels.ts";
import { MIRROR_DOMAINS } from "../../crds/space/namespace-labels.ts";
import { Failure } from "../failure.ts";

type Labels = Readonly<Record<string, string>>;

/** A namespace of an org or a space. */
export interface Surroundings {
  namespace: string;
  labels: Labels;
}

/** Namespaces that are known. */
export interface Places {
  org?: Surroundings;
  space?: Surroundings;
  /** In a cluster: labels of the namespaces that objects name and this user may read. `org` and `space` count for objects that name none. */
  byNamespace?: ReadonlyMap<string, Labels>;
}

export interface PlacedObject {
  object: KubeObject;
  namespaceLabels: Labels | undefined;
  /** False: whether it is in an org or a space is not known. */
  isPlaceKnown: boolean;
}

export interface PlaceOptions {
  org?: string;
  space?: string;
  orgLabel?: readonly string[];
  spaceLabel?: readonly string[];
}

/** The places that the command line names. @throws Failure (usage) */
export function toPlaces({ org, space, orgLabel, spaceLabel }: PlaceOptions): Places {
  if (org === undefined && (space !== undefined || orgLabel || spaceLabel))
    throw new Failure("the org is missing", { kind: "usage", next: "add --org NAME" });
  if (space === undefined && spaceLabel)
    throw new Failure("the space is missing", { kind: "usage", next: "add --space NAME" });
  if (org === undefined) return {};
  const orgPlace = { name: objectNameFor(org, "org"), labels: toLabels(orgLabel, "--org-label") };
  const inOrg = { namespace: orgPlace.name, labels: toNamespaceLabels({ org: orgPlace }) };
  if (space === undefined) return { org: inOrg };
  const spacePlace = { name: objectNameFor(space, "space"), labels: toLabels(spaceLabel, "--space-label") };
  return {
    org: inOrg,
    space: {
      namespace: `${orgPlace.name}-${spacePlace.name}`,
      labels: toNamespaceLabels({ org: orgPlace, space: spacePlace }),
    },
  };
}

function toLabels(pairs: readonly string[] = [], option: string): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new Failure(`${option} ${pair}: write key=value`, { kind: "usage" });
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** The places of a cluster's space: labels of its org are a part of those of its namespace. */
export function placesOfSpace(space: Surroundings): Places {
  const org = Object.entries(space.labels).filter(([key]) => isOrgLabel(key));
  const name = space.labels[STABLE_LABELS.orgName];
  return { space, ...(name !== undefined && { org: { namespace: name, labels: Object.fromEntries(org) } }) };
}

function isOrgLabel(key: string): boolean {
  const prefix = key.slice(0, Math.max(0, key.indexOf("/")));
  return key === STABLE_LABELS.orgName || prefix === MIRROR_DOMAINS.org || prefix.endsWith(`.${MIRROR_DOMAINS.org}`);
}

/** Puts an object into its namespace. */
export function placeObject(object: KubeObject, definition: KindDefinition, places: Places): PlacedObject {
  if (!definition.namespaced) return { object, namespaceLabels: undefined, isPlaceKnown: true };
  const { namespace } = object.metadata;
  const known = namespace === undefined ? undefined : places.byNamespace?.get(namespace);
  const home = known && namespace ? { namespace, labels: known } : homeOf(namespace, definition, places);
  return {
    object: { ...object, metadata: { ...object.metadata, ...namespaceOf(namespace ?? home?.namespace) } },
    namespaceLabels: home?.labels ?? {},
    isPlaceKnown: home !== undefined,
  };
}

function namespaceOf(namespace: string | undefined): { namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}

const SYSTEM: Surroundings = { namespace: SYSTEM_NAMESPACE, labels: {} };

function homeOf(namespace: string | undefined, { livesIn }: KindDefinition, places: Places): Surroundings | undefined {
  if (namespace === SYSTEM_NAMESPACE) return SYSTEM;
  if (isElsewhere(namespace, places)) return undefined;
  // Kinds that may live anywhere are the system's unless they name another namespace.
  const [home] = livesIn ?? [namespace === undefined ? "system" : "org"];
  return home === "system" ? SYSTEM : home === "space" ? places.space : places.org;
}

/** In a cluster, an object with another namespace is in another space. Without one, the command line says where all are. */
function isElsewhere(namespace: string | undefined, { byNamespace, org, space }: Places): boolean {
  return (
    byNamespace !== undefined && namespace !== undefined && ![org?.namespace, space?.namespace].includes(namespace)
  );
}
