// The resources that are served right now: built-in ones from the start, CRDs as they come and go.
import type { ResourceType, Virtual, VersionType } from "./types.ts";

export interface Catalogue {
  add(type: ResourceType): void;
  remove(group: string, resource: string): void;
  addVirtual(virtual: Virtual): void;
  find(group: string, resource: string): ResourceType | undefined;
  findVersion(
    group: string,
    version: string,
    resource: string,
  ): { type: ResourceType; version: VersionType } | undefined;
  findVirtual(group: string, version: string, resource: string, subresource: string): Virtual | undefined;
  /** Prefers types over virtual resources of the same group; first come first. */
  findKind(group: string, kind: string): ResourceType | undefined;
  list(): ResourceType[];
  listVirtual(): Virtual[];
  /** Grows with each change: caches of discovery documents compare it. */
  revision(): number;
}

export function createCatalogue(): Catalogue {
  const types = new Map<string, ResourceType>();
  const virtuals: Virtual[] = [];
  let revision = 0;
  const find = (group: string, resource: string) => types.get(`${group}/${resource}`);
  return {
    add(type) {
      types.set(`${type.group}/${type.resource}`, type);
      revision += 1;
    },
    remove(group, resource) {
      types.delete(`${group}/${resource}`);
      revision += 1;
    },
    addVirtual(virtual) {
      virtuals.push(virtual);
      revision += 1;
    },
    find,
    findVersion(group, version, resource) {
      const type = find(group, resource);
      const found = type?.versions.find((candidate) => candidate.version === version);
      return type && found && { type, version: found };
    },
    findVirtual: (group, version, resource, subresource) =>
      virtuals.find(
        (v) =>
          v.gvr.group === group &&
          v.gvr.version === version &&
          v.gvr.resource === resource &&
          v.subresource === subresource,
      ),
    findKind: (group, kind) => [...types.values()].find((type) => type.group === group && type.kind === kind),
    list: () => [...types.values()],
    listVirtual: () => virtuals,
    revision: () => revision,
  };
}
