// Objects as tables and as metadata only: what `kubectl get` and metadata clients ask for.
import type { KubeObject } from "../../../kube/api/object.ts";
import { jsonOf } from "../storage/store.ts";
import type { VersionType } from "../registry/types.ts";

export interface TableOptions {
  /** Left out of all watch events but the first. */
  withColumns: boolean;
  include: string;
}

/** A `meta.k8s.io/v1` Table as text. */
export function tableOf(
  version: VersionType,
  objects: KubeObject[],
  metadata: object,
  { withColumns, include }: TableOptions,
): string {
  const columns = withColumns ? version.columns.map(({ cell: _cell, ...definition }) => definition) : [];
  const rows = objects.map(
    (object) =>
      `{"cells":${JSON.stringify(version.columns.map((column) => column.cell(object) ?? null))},"object":${included(object, include)}}`,
  );
  return `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":${JSON.stringify(metadata)},"columnDefinitions":${JSON.stringify(columns)},"rows":[${rows.join(",")}]}`;
}

function included(object: KubeObject, include: string): string {
  if (include === "None") return "null";
  return include === "Object" ? jsonOf(object) : partialOf(object);
}

/** `PartialObjectMetadata` as text. */
export function partialOf(object: KubeObject): string {
  return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":${JSON.stringify(object.metadata)}}`;
}
