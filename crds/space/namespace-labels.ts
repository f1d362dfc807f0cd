// Labels of an org's and a space's namespace that say where it is: object names, and the CF labels of the org and the space. Operator policy selects by them.
import { isReservedKey, STABLE_LABELS } from "../labels.ts";
import { generatedName } from "../object-names.ts";

/** Facts of an Org or a Space that a namespace repeats. */
export interface Labelled {
  name: string;
  /** All labels of the object; the platform's own are not CF labels and are left out. */
  labels?: Record<string, string> | undefined;
}

/** Where an object is. A cluster-wide object, and one of the system namespace, is in neither. */
export interface Place {
  org?: Labelled | undefined;
  space?: Labelled | undefined;
}

/** Kubernetes' limit for the prefix of a label's key. */
const MAX_PREFIX = 253;
/** CF allows 50 labels of an object, kubectl any number. More could make a namespace too costly for admission policies, and its suspension fail. */
const MAX_MIRRORED = 100;
/** Kubernetes' limit for the value of a label. */
const MAX_VALUE = 63;

/** The domain that every mirrored label of an org, respectively a space, has at the end of its prefix. */
export const MIRROR_DOMAINS = { org: "org.cupola.dev", space: "space.cupola.dev" } as const;

/** The key under which a namespace repeats a CF label: `team` as `org.cupola.dev/team`, `example.com/team` as `example.com.org.cupola.dev/team`. */
export function mirroredKey(of: keyof typeof MIRROR_DOMAINS, key: string): string {
  const slash = key.indexOf("/");
  return slash < 0
    ? `${MIRROR_DOMAINS[of]}/${key}`
    : `${key.slice(0, slash)}.${MIRROR_DOMAINS[of]}/${key.slice(slash + 1)}`;
}

/** Does this label of a namespace mirror a label of its org or space? Only the platform writes such labels. */
export function isMirroredKey(key: string): boolean {
  return Object.values(MIRROR_DOMAINS).some((domain) => key.startsWith(`${domain}/`) || key.includes(`.${domain}/`));
}

/** isMirroredKey in CEL, of the variable `key`. */
export const IS_MIRRORED_KEY = `(${Object.values(MIRROR_DOMAINS)
  .map((domain) => `key.startsWith('${domain}/') || key.contains('.${domain}/')`)
  .join(" || ")})`;

/** Keys of CF labels that no namespace mirrors: their prefixes become too long for Kubernetes, or there are too many before them. */
export function listUnmirroredKeys(of: keyof typeof MIRROR_DOMAINS, { labels = {} }: Labelled): string[] {
  const mirrored = new Set(listMirrored(of, labels));
  return Object.keys(labels).filter((key) => !isReservedKey(key) && !mirrored.has(key));
}

/**
 * Labels of the namespace of a place. An object name that is too long for a label's value gets its end replaced by a hash, so that constraints on all
 * spaces of an org hold. A label whose prefix becomes too long is left out, since no selector can name it, and so are those beyond the first hundred.
 */
export function toNamespaceLabels({ org, space }: Place): Record<string, string> {
  return {
    ...(org && { ...nameLabel(STABLE_LABELS.orgName, org.name), ...mirror("org", org) }),
    ...(space && { ...nameLabel(STABLE_LABELS.spaceName, space.name), ...mirror("space", space) }),
  };
}

function nameLabel(key: string, name: string): Record<string, string> {
  return { [key]: nameAsLabel(name) };
}

/** The value of a label for an object name: the name, or when it is too long one with a hash at its end. */
export function nameAsLabel(name: string): string {
  return name.length <= MAX_VALUE ? name : generatedName(name, name);
}

function mirror(of: keyof typeof MIRROR_DOMAINS, { labels = {} }: Labelled): Record<string, string> {
  return Object.fromEntries(listMirrored(of, labels).map((key) => [mirroredKey(of, key), labels[key] ?? ""]));
}

/** The keys that a namespace mirrors, in order. */
function listMirrored(of: keyof typeof MIRROR_DOMAINS, labels: Record<string, string>): string[] {
  return Object.keys(labels)
    .filter((key) => !isReservedKey(key) && mirroredKey(of, key).indexOf("/") <= MAX_PREFIX)
    .toSorted()
    .slice(0, MAX_MIRRORED);
}
