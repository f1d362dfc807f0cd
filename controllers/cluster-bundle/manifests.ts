// The manifests of a ClusterBundle: which objects they may be, and the values of one cluster in them. Pure.
import { findBundleKind } from "../../crds/cluster-bundle/bundle-kinds.ts";
import { MAX_BUNDLE_OBJECTS } from "../../crds/cluster-bundle/cluster-bundle.ts";
import { GROUP } from "../../crds/groups.ts";
import { RESERVED_NAMESPACE } from "../../crds/platform-policies.ts";
import type { Draft } from "../../kube/client/client.ts";
import { isRecord } from "../../kube/api/is-record.ts";

/** Characters of all manifests of a bundle. */
export const MAX_TEXT = 256 * 1024;

/** The documents of a text, without empty ones. */
export function splitDocuments(text: string): string[] {
  return text.split(/^---(?:[ \t].*)?$/m).filter((part) => part.replaceAll(/^\s*(#.*)?$/gm, "").trim() !== "");
}

/** @throws Error that names the manifest and what to do */
export function toDrafts(documents: readonly { from: string; value: unknown }[]): Draft[] {
  if (documents.length === 0)
    throw new Error("there is no manifest in it: deleting the bundle removes it from clusters");
  if (documents.length > MAX_BUNDLE_OBJECTS)
    throw new Error(`${documents.length} manifests: at most ${MAX_BUNDLE_OBJECTS} fit into a bundle`);
  const drafts = documents.map(toDraft);
  const keys = drafts.map(describeDraft);
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) throw new Error(`${twice} is there twice`);
  return drafts;
}

function toDraft({ from, value }: { from: string; value: unknown }): Draft {
  if (!isRecord(value)) throw new Error(`${from}: a manifest is an object`);
  const { apiVersion, kind, metadata, status: _, ...rest } = value;
  const ref = findBundleKind(apiVersion, kind);
  if (!ref) throw new Error(`${from}: bundles have no ${String(kind)} of ${String(apiVersion)}`);
  if (!isRecord(metadata)) throw new Error(`${from}: the ${ref.kind} has no metadata`);
  const { name, namespace, labels, annotations, ...others } = metadata;
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Error(`${from}: metadata.${other} is not for bundles`);
  if (typeof name !== "string" || typeof namespace !== "string")
    throw new Error(`${from}: the ${ref.kind} needs metadata.name and metadata.namespace`);
  if (new RegExp(RESERVED_NAMESPACE).test(namespace))
    throw new Error(`${from}: bundles write nothing in namespace ${namespace}`);
  const marks = { labels: readTexts(from, labels), annotations: readTexts(from, annotations) };
  return { ...rest, apiVersion: String(apiVersion), kind: ref.kind, metadata: { name, namespace, ...marks } };
}

function readTexts(from: string, map: unknown): Record<string, string> {
  if (map === undefined || map === null) return {};
  const entries = isRecord(map) ? Object.entries(map) : [["", 0] as const];
  return Object.fromEntries(
    entries.map(([key, text]) => {
      if (typeof text !== "string") throw new Error(`${from}: labels and annotations are texts`);
      if (key.startsWith(`${GROUP}/`)) throw new Error(`${from}: ${key} is the platform's own`);
      return [key, text];
    }),
  );
}

const VARIABLE = /\$(\$?)\{([A-Z][A-Z0-9_]*)\}/g;

/** The drafts with the values of a cluster in place of `${NAME}`. @throws Error that names a value which is missing */
export function fillIn(drafts: readonly Draft[], values: Readonly<Record<string, string>>): Draft[] {
  const fill = (value: unknown): unknown => {
    if (typeof value === "string") return value.replaceAll(VARIABLE, replace);
    if (Array.isArray(value)) return value.map(fill);
    return isRecord(value) ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fill(one)])) : value;
  };
  const replace = (_all: string, isEscaped: string, name: string): string => {
    if (isEscaped) return `\${${name}}`;
    const value = values[name];
    if (value === undefined)
      throw new Error(`no value for \${${name}}: set it in spec.values, or in the cluster's overrides`);
    return value;
  };
  // Neither kind nor place depends on a value: they were judged.
  return drafts.map(({ apiVersion, kind, metadata, ...rest }) => ({
    ...(fill(rest) as object),
    apiVersion,
    kind,
    metadata: {
      ...metadata,
      labels: fill(metadata.labels) as Record<string, string>,
      annotations: fill(metadata.annotations) as Record<string, string>,
    },
  }));
}

/** As the status lists it. */
export function describeDraft({ kind = "", metadata: { namespace = "", name = "" } }: Draft): string {
  return `${kind} ${namespace}/${name}`;
}

export interface ListedObject {
  kind: string;
  namespace: string;
  name: string;
}

export function parseObject(text: string): ListedObject {
  const [, kind = "", namespace = "", name = ""] = /^(\S+) ([^/]+)\/(.+)$/.exec(text) ?? [];
  return { kind, namespace, name };
}
