// Objects that rules read: those of files, and those of a cluster as far as this user may list them.
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isForbidden } from "../../kube/client/errors.ts";
import { STABLE_LABELS } from "../../crds/labels.ts";
import type { JudgingConstraint } from "../../crds/policy-template/evaluate.ts";
import { withPlanned, type ListObjects } from "../../crds/policy-template/refs.ts";
import { findSubject } from "../../crds/policy-template/subjects.ts";
import type { PlacedObject } from "./places.ts";

/** Lists these objects and no others, and the namespaces that they are in. */
export function listPlaced(placed: readonly PlacedObject[]): ListObjects {
  return (ref, { namespace, labels = {} }) => {
    const all = ref.kind === Namespace.kind ? namespacesOf(placed) : placed.map(({ object }) => object);
    return all.filter(
      ({ kind, metadata }) =>
        kind === ref.kind &&
        (namespace === undefined || metadata.namespace === namespace) &&
        Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value),
    );
  };
}

function namespacesOf(placed: readonly PlacedObject[]): KubeObject[] {
  const found = new Map(
    placed.map(({ object, namespaceLabels = {} }) => [object.metadata.namespace ?? "", namespaceLabels]),
  );
  return [...found].map(([name, labels]) => ({
    apiVersion: "v1",
    kind: Namespace.kind,
    metadata: { name, labels: { ...labels } },
  }));
}

/** Lists of a cluster's objects, with those of the files in place of their stored versions. A list that this user may not have is not known. */
export async function readLists(
  kube: KubeClient,
  constraints: readonly JudgingConstraint[],
  placed: readonly PlacedObject[],
): Promise<ListObjects> {
  const lists = new Map<string, KubeObject[]>();
  for (const { ref, filter } of listQueries(constraints, placed)) {
    const id = queryId(ref, filter);
    const items = lists.has(id) ? undefined : await listIfAllowed(kube, ref, filter);
    if (items) lists.set(id, items);
  }
  const list: ListObjects = (ref, filter) =>
    lists.get(queryId(ref, filter)) ?? inNamespace(lists.get(queryId(ref, {})), filter);
  return withPlanned(
    list,
    placed.map(({ object }) => object),
  );
}

function inNamespace(
  objects: readonly KubeObject[] | undefined,
  { namespace }: Query["filter"],
): KubeObject[] | undefined {
  return objects?.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace);
}

interface Query {
  ref: ResourceRef;
  filter: Parameters<ListObjects>[1];
}

function queryId({ kind }: ResourceRef, { namespace = "", labels = {} }: Query["filter"]): string {
  return JSON.stringify([kind, namespace, labels]);
}

/** Lists that the rules about these objects need. */
function listQueries(constraints: readonly JudgingConstraint[], placed: readonly PlacedObject[]): Query[] {
  return placed.flatMap((one) =>
    constraints
      .filter(({ template }) => template.subjects.includes(one.object.kind))
      .flatMap(({ template }) => template.reads ?? [])
      .flatMap(({ kind, scope }): Query[] => {
        const ref = findSubject(kind);
        if (!ref) return [];
        if (scope === "platform") return [{ ref, filter: {} }];
        const { namespace } = one.object.metadata;
        if (scope === "space") return namespace === undefined ? [] : [{ ref, filter: { namespace } }];
        const org = one.namespaceLabels?.[STABLE_LABELS.orgName];
        if (org === undefined) return [];
        return [
          { ref: Namespace as ResourceRef, filter: { labels: { [STABLE_LABELS.orgName]: org } } },
          { ref, filter: {} },
        ];
      }),
  );
}

async function listIfAllowed(
  kube: KubeClient,
  ref: ResourceRef,
  { namespace, labels = {} }: Query["filter"],
): Promise<KubeObject[] | undefined> {
  const labelSelector = Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
  try {
    const { items } = await kube.list(ref, {
      ...(namespace !== undefined && { namespace }),
      ...(labelSelector !== "" && { labelSelector }),
    });
    return items.map((item) => ({ ...item, kind: ref.kind }));
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}
