// The generated objects of an app as they are in the cluster, as far as this user may read them.
import { Deployment, Ingress, Pod, PodDisruptionBudget, Service, StatefulSet } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { apiVersionOf, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isForbidden, isNoKind } from "../../kube/client/errors.ts";
import { OBSERVE_LABELS, STABLE_LABELS } from "../../crds/labels.ts";

const KINDS: readonly ResourceRef[] = [Deployment, StatefulSet, PodDisruptionBudget, Service, Ingress, Pod];
/** An app has at most some hundred instances; more are counted and not shown. */
const LIMIT = 500;

export interface LiveObjects {
  objects: KubeObject[];
  /** Plurals that this user may not read. */
  forbidden: string[];
}

export async function readLive(kube: KubeClient, namespace: string, appGUID: string): Promise<LiveObjects> {
  const labelSelector = `${STABLE_LABELS.app}=${appGUID}`;
  const found = await Promise.all(
    KINDS.map(async (ref) => {
      try {
        const { items } = await kube.list(ref, { namespace, labelSelector, limit: LIMIT });
        return items.map((one) => withKind(one, ref));
      } catch (error) {
        if (isNoKind(error)) return [];
        if (isForbidden(error)) return ref.plural;
        throw error;
      }
    }),
  );
  return {
    objects: found.flatMap((one) => (typeof one === "string" ? [] : one)),
    forbidden: found.filter((one) => typeof one === "string"),
  };
}

/** Items of a list do not say their kind; managers are of no use to people. */
function withKind(object: KubeObject, ref: ResourceRef): KubeObject {
  const { managedFields: _managers, ...metadata } = object.metadata;
  return { ...object, apiVersion: apiVersionOf(ref), kind: ref.kind, metadata };
}

/** Kind, name, state and maker of a live object. Pure. */
export function toRow(object: KubeObject): string[] {
  const { kind = "", metadata } = object;
  return [kind, metadata.name, stateOf(object), metadata.labels?.[OBSERVE_LABELS.managedBy] ?? ""];
}

interface Counts {
  phase?: string;
  readyReplicas?: number;
  replicas?: number;
  currentHealthy?: number;
  desiredHealthy?: number;
}

function stateOf(object: KubeObject): string {
  const { kind } = object;
  const status = (object["status"] ?? {}) as Counts;
  if (kind === Pod.kind) return describePod(object, status);
  if (kind === PodDisruptionBudget.kind) return describeRatio(status.currentHealthy, status.desiredHealthy, "healthy");
  if (kind !== Deployment.kind && kind !== StatefulSet.kind) return "";
  return describeRatio(status.readyReplicas, (object["spec"] as Counts | undefined)?.replicas, "ready");
}

function describePod({ metadata }: KubeObject, { phase = "Unknown" }: Counts): string {
  const index = metadata.labels?.[STABLE_LABELS.instanceIndex];
  return index === undefined ? phase : `${phase}, index ${index}`;
}

function describeRatio(some = 0, all = 0, what: string): string {
  return `${some} of ${all} ${what}`;
}
