// Discovery documents: which groups, versions and resources are served, in the old form and the aggregated one.
import { byPriority } from "../crd/resource-type.ts";
import { apiVersionOf } from "../registry/convert.ts";
import type { Catalogue } from "../registry/catalogue.ts";
import type { ResourceType, VersionType } from "../registry/types.ts";

interface Entry {
  name: string;
  singularName: string;
  namespaced: boolean;
  kind: string;
  verbs: string[];
  group?: string;
  version?: string;
  shortNames?: string[];
  categories?: string[];
}

/** Groups in the order clients should prefer them: core first, then built-in ones, then those of CRDs by name. */
export function groupsOf(catalogue: Catalogue): Map<string, string[]> {
  const builtin = new Map<string, Set<string>>();
  const custom = new Map<string, Set<string>>();
  const add = (into: Map<string, Set<string>>, group: string, version: string) =>
    into.set(group, (into.get(group) ?? new Set()).add(version));
  for (const type of catalogue.list())
    for (const { version } of type.versions) add(type.builtin ? builtin : custom, type.group, version);
  for (const { gvr, subresource } of catalogue.listVirtual()) if (!subresource) add(builtin, gvr.group, gvr.version);
  const sorted = [...builtin, ...[...custom].sort(([a], [b]) => (a < b ? -1 : 1))];
  return new Map(sorted.map(([group, versions]) => [group, [...versions].sort(byPriority)]));
}

/** Types and virtual resources of one group version, by resource name. */
function served(catalogue: Catalogue, group: string, version: string) {
  const types = catalogue.list().flatMap((type) => {
    const found = type.group === group && type.versions.find((candidate) => candidate.version === version);
    return found ? [{ type, version: found }] : [];
  });
  const virtuals = catalogue
    .listVirtual()
    .filter(({ gvr, subresource }) => gvr.group === group && gvr.version === version && !subresource);
  return { types, virtuals };
}

function entriesOf(type: ResourceType, version: VersionType): Entry[] {
  const main: Entry = {
    name: type.resource,
    singularName: type.singular,
    namespaced: type.namespaced,
    kind: type.kind,
    verbs: type.verbs,
    ...(type.shortNames.length > 0 && { shortNames: type.shortNames }),
    ...(type.categories.length > 0 && { categories: type.categories }),
  };
  const subs = version.subresources.map(({ name, gvk, verbs }): Entry => ({
    name: `${type.resource}/${name}`,
    singularName: "",
    namespaced: type.namespaced,
    kind: gvk.kind,
    verbs,
    ...((gvk.group !== type.group || gvk.version !== version.version) && { group: gvk.group, version: gvk.version }),
  }));
  return [main, ...subs];
}

/** `APIResourceList`; undefined when the group version is not served. */
export function resourceList(catalogue: Catalogue, group: string, version: string): object | undefined {
  const { types, virtuals } = served(catalogue, group, version);
  if (types.length === 0 && virtuals.length === 0) return undefined;
  const resources = [
    ...types.flatMap(({ type, version: v }) => entriesOf(type, v)),
    ...virtuals.map((v): Entry => ({
      name: v.gvr.resource,
      singularName: v.singular,
      namespaced: v.namespaced,
      kind: v.gvk.kind,
      verbs: ["create"],
    })),
  ];
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion: apiVersionOf(group, version), resources };
}

/** `APIGroup` of one group; undefined when it is not served. */
export function groupDocument(catalogue: Catalogue, group: string): object | undefined {
  const versions = groupsOf(catalogue).get(group);
  if (!versions || group === "") return undefined;
  return { kind: "APIGroup", apiVersion: "v1", ...groupBody(group, versions) };
}

function groupBody(group: string, versions: string[]) {
  const list = versions.map((version) => ({ groupVersion: apiVersionOf(group, version), version }));
  return { name: group, versions: list, preferredVersion: list[0] };
}

export function groupList(catalogue: Catalogue): object {
  return {
    kind: "APIGroupList",
    apiVersion: "v1",
    groups: [...groupsOf(catalogue)]
      .filter(([group]) => group !== "")
      .map(([group, versions]) => groupBody(group, versions)),
  };
}

/** `APIGroupDiscoveryList` for `/api` (core only) or `/apis` (all others). */
export function aggregated(catalogue: Catalogue, core: boolean): object {
  const items = [...groupsOf(catalogue)]
    .filter(([group]) => (group === "") === core)
    .map(([group, versions]) => ({
      metadata: { ...(group && { name: group }) },
      versions: versions.map((version) => ({
        version,
        resources: aggregatedResources(catalogue, group, version),
        freshness: "Current",
      })),
    }));
  return { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", metadata: {}, items };
}

function aggregatedResources(catalogue: Catalogue, group: string, version: string): object[] {
  const { types, virtuals } = served(catalogue, group, version);
  const stored = types.map(({ type, version: v }) => ({
    resource: type.resource,
    responseKind: type.builtin
      ? { group: "", version: "", kind: type.kind }
      : { group: type.group, version, kind: type.kind },
    scope: type.namespaced ? "Namespaced" : "Cluster",
    singularResource: type.singular,
    verbs: type.verbs,
    ...(type.shortNames.length > 0 && { shortNames: type.shortNames }),
    ...(type.categories.length > 0 && { categories: type.categories }),
    ...(v.subresources.length > 0 && {
      subresources: v.subresources.map(({ name, gvk, verbs }) => ({
        subresource: name,
        responseKind:
          type.builtin && gvk.group === type.group && gvk.version === version
            ? { group: "", version: "", kind: gvk.kind }
            : gvk,
        verbs,
      })),
    }),
  }));
  return [
    ...stored,
    ...virtuals.map((v) => ({
      resource: v.gvr.resource,
      responseKind: { group: "", version: "", kind: v.gvk.kind },
      scope: v.namespaced ? "Namespaced" : "Cluster",
      singularResource: v.singular,
      verbs: ["create"],
    })),
  ];
}
