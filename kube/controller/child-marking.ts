// How the children of an owner are marked: on the owner's own cluster, and on others.
import { keyOf, type KubeObject } from "../api/object.ts";
import { apiVersionOf, resourceId, type ResourceRef } from "../api/resource-ref.ts";
import { NotSynced } from "../cache/errors.ts";
import type { Draft, KubeClient } from "../client/client.ts";
import { NotReady, type OwnershipMarkers, type RemoteMarkers } from "./controller.ts";

/** The owner of children. `id`: the value by which their label names it. */
export interface ChildOwner {
  id: string;
  object: KubeObject;
}

export interface ChildMarking {
  fieldManager: string;
  /** The label that names the owner. */
  ownerLabel: string;
  /** As in OwnershipMarkers; children on other clusters have none. */
  traceAnnotation?: string | undefined;
  /** The draft with the marks of its owner. */
  mark(draft: Draft, owner: ChildOwner): Draft;
  /** Whether a cached object with the owner's label is a child of this controller. */
  isChild(object: KubeObject): boolean;
  /** @throws NotReady when the cached object is another owner's */
  requireOwned(live: KubeObject, owner: ChildOwner): void;
  /** Asks before an object is created that the cache does not have: whether its fields may be taken over. @throws NotReady, NotSynced */
  mayForceCreation(client: KubeClient, ref: ResourceRef, draft: Draft): Promise<boolean>;
}

// Two owners of one name would overwrite each other forever.
function toTaken(live: KubeObject, holder: string): NotReady {
  return new NotReady("ChildTaken", `${live.kind} ${keyOf(live.metadata)} belongs to ${holder}`, {
    requeueAfterMs: 2_000,
  });
}

/** Children beside their owner: the label has its uid, and Kubernetes collects them with it where it can. */
export function localMarking(markers: OwnershipMarkers, controller: string, ownerRef: ResourceRef): ChildMarking {
  const { fieldManagerPrefix, ownerLabel, controllerLabel, ownerAnnotation, traceAnnotation } = markers;
  return {
    fieldManager: `${fieldManagerPrefix}-${controller}`,
    ownerLabel,
    traceAnnotation,
    mark(draft, { id, object }) {
      const { metadata } = draft;
      const reachable = !ownerRef.namespaced || metadata.namespace === object.metadata.namespace;
      const reference = {
        apiVersion: apiVersionOf(ownerRef),
        kind: ownerRef.kind,
        name: object.metadata.name,
        uid: id,
        controller: true,
      };
      return {
        ...draft,
        metadata: {
          ...metadata,
          labels: { ...metadata.labels, [ownerLabel]: id, [controllerLabel]: controller },
          annotations: { ...metadata.annotations, [ownerAnnotation]: keyOf(object.metadata) },
          // Only where Kubernetes allows it.
          ...(reachable && { ownerReferences: [...(metadata.ownerReferences ?? []), reference] }),
        },
      };
    },
    isChild: ({ metadata }) => metadata.labels?.[controllerLabel] === controller,
    requireOwned(live, { id }) {
      const holder = live.metadata.labels?.[ownerLabel];
      if (holder !== undefined && holder !== id)
        throw toTaken(live, live.metadata.annotations?.[ownerAnnotation] ?? holder);
    },
    mayForceCreation: () => Promise.resolve(true),
  };
}

/**
 * Children on another cluster than their owner's. They have no owner reference: a garbage collector deletes an object whose owner it cannot find.
 * An object without our label is somebody else's, and never touched.
 */
export function remoteMarking(markers: RemoteMarkers, ownerRef: ResourceRef): ChildMarking {
  const { fieldManager, hubLabel, hub, ownerLabel, ownerAnnotation, adoptableLabel } = markers;
  return {
    fieldManager,
    ownerLabel,
    mark({ metadata, ...draft }, { id, object }) {
      const { ownerReferences: _, ...kept } = metadata;
      return {
        ...draft,
        metadata: {
          ...kept,
          labels: { ...metadata.labels, [hubLabel]: hub, [ownerLabel]: id },
          annotations: { ...metadata.annotations, [ownerAnnotation]: remoteOwner(ownerRef, object) },
        },
      };
    },
    isChild: ({ metadata }) =>
      metadata.labels?.[hubLabel] === hub &&
      parseRemoteOwner(ownerRef, metadata.annotations?.[ownerAnnotation]) !== undefined,
    requireOwned(live, { id }) {
      const { labels, annotations } = live.metadata;
      const holder = labels?.[ownerLabel];
      if (holder !== undefined && holder !== id) throw toTaken(live, annotations?.[ownerAnnotation] ?? holder);
    },
    async mayForceCreation(client, ref, { metadata: { name = "", namespace } }) {
      const live = await client.find(ref, { name, ...(namespace && { namespace }) });
      if (!live) return false;
      const labels = live.metadata.labels ?? {};
      // The cache has only objects with our label, and lags behind this one.
      if (labels[hubLabel] === hub) throw new NotSynced(resourceId(ref), namespace);
      if (labels[adoptableLabel] === hub) return true;
      throw new NotReady(
        "Conflict",
        `${ref.kind} ${keyOf(live.metadata)} of the cluster is not this platform's and stays as it is: delete it, or label it ${adoptableLabel}=${hub} to hand it over`,
        { requeueAfterMs: 30_000, isFailure: true },
      );
    },
  };
}

/** The owner as children on other clusters name it: `Kind namespace/name`. */
function remoteOwner(ownerRef: ResourceRef, owner: KubeObject): string {
  return `${ownerRef.kind} ${keyOf(owner.metadata)}`;
}

/** The owner's key; undefined when it is of another kind. */
export function parseRemoteOwner(ownerRef: ResourceRef, text: string | undefined): string | undefined {
  const [kind, key] = (text ?? "").split(" ");
  return kind === ownerRef.kind ? key : undefined;
}
