// Applies the objects of a ClusterBundle to one cluster, and removes those that it has no more. Each is read by its name: the platform watches nothing of these kinds there.
import { BUNDLE_KINDS } from "../../crds/cluster-bundle/bundle-kinds.ts";
import { ClusterBundle } from "../../crds/cluster-bundle/cluster-bundle.ts";
import { deriveGUID } from "../../crds/guid.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../kube/api/object.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { ListFilter } from "../../kube/cache/reader.ts";
import type { Draft, KubeClient } from "../../kube/client/client.ts";
import { isForbidden } from "../../kube/client/errors.ts";
import { remoteMarking } from "../../kube/controller/child-marking.ts";
import type { RemoteMarkers } from "../../kube/controller/controller.ts";
import { createOwnedObjects, type ChildStore, type OwnedObjects } from "../../kube/controller/owned-objects.ts";
import { describeDraft, parseObject } from "./manifests.ts";

/** Objects read at the same time. */
const AT_A_TIME = 8;

export interface Application {
  bundle: ClusterBundle;
  client: KubeClient;
  markers: RemoteMarkers;
  drafts: readonly Draft[];
  /** Objects there that the bundle keeps, as its status lists them. */
  known: readonly string[];
}

/**
 * Objects that the bundle has no more go when all others are there: what one of them replaces may be refused.
 * @throws the error of the first object that the cluster refused, or an AggregateError; the others are applied all the same
 */
export async function applyBundle({ bundle, client, markers, drafts, known }: Application): Promise<void> {
  const names = drafts.map(describeDraft);
  // A restored backup keeps the name.
  const owner = { id: deriveGUID("cluster-bundle", bundle.metadata.name), object: bundle };
  const ownedAmong = async (texts: readonly string[]): Promise<OwnedObjects> =>
    createOwnedObjects({
      client,
      marking: remoteMarking(markers, ClusterBundle),
      controller: "cluster-bundle",
      stores: await readStores(texts, client, markers),
      completeStores: [],
    });
  await (await ownedAmong(names)).sync(owner, drafts);
  await (await ownedAmong(known.filter((text) => !names.includes(text)))).sync(owner, []);
}

/** Those of the objects that are there, or may be: where one cannot be read, nobody knows. */
export async function listThere(
  texts: readonly string[],
  { client, markers }: Pick<Application, "client" | "markers">,
): Promise<string[]> {
  const there = await mapSome(texts, async (text) => {
    const { kind, ...key } = parseObject(text);
    const ref = BUNDLE_KINDS.find((one) => one.kind === kind);
    if (!ref) return [];
    try {
      const object = await client.find(ref, key);
      return object?.metadata.labels?.[markers.hubLabel] === markers.hub ? [text] : [];
    } catch (error) {
      if (isForbidden(error)) return [text];
      throw error;
    }
  });
  return there.flat();
}

/** A few at the same time, in their order. */
async function mapSome<T>(texts: readonly string[], call: (text: string) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let first = 0; first < texts.length; first += AT_A_TIME)
    results.push(...(await Promise.all(texts.slice(first, first + AT_A_TIME).map(call))));
  return results;
}

/** The objects that have the platform's label, by kind. */
async function readStores(texts: readonly string[], client: KubeClient, markers: RemoteMarkers): Promise<ChildStore[]> {
  const found = new Map<string, KubeObject[]>();
  await mapSome(texts, async (text) => {
    const { kind, namespace, name } = parseObject(text);
    const ref = BUNDLE_KINDS.find((one) => one.kind === kind);
    const object = ref && (await findReadable(client, ref, { namespace, name }));
    if (!ref || object?.metadata.labels?.[markers.hubLabel] !== markers.hub) return;
    found.set(resourceId(ref), [...(found.get(resourceId(ref)) ?? []), object]);
  });
  return BUNDLE_KINDS.map((ref) => toStore(ref, found.get(resourceId(ref)) ?? []));
}

/** An object whose namespace is not the hub's any more is left alone; where it is to be applied, that fails, too. */
async function findReadable(client: KubeClient, ref: ResourceRef, key: ObjectKey): Promise<KubeObject | undefined> {
  try {
    return await client.find(ref, key);
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

function toStore(ref: ResourceRef, objects: readonly KubeObject[]): ChildStore {
  const matches = ({ metadata }: KubeObject, { labels = {} }: ListFilter): boolean =>
    Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value);
  return {
    ref,
    find: (key) => objects.find(({ metadata }) => keyOf(metadata) === keyOf(key)),
    list: (filter = {}) => objects.filter((object) => matches(object, filter)),
    resourceVersionIn: () => "",
  };
}
