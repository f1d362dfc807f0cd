// Which object a Work asks for, and whether it asks to remove it. Pure.
import { LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import { findWorkKind, manifestOf } from "../../crds/work/remote-object.ts";
import type { Work } from "../../crds/work/work.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { ObjectKey } from "../../kube/api/object.ts";
import { apiVersionOf, type ObjectOf, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";
import { NotReady } from "../../kube/controller/controller.ts";

export type Manifest = NonNullable<ReturnType<typeof manifestOf>>;

/** Kinds that a Work's deletion removes. The clean-up of namespaces is the spoke's own. */
export const REMOVED_KINDS: readonly ResourceRef[] = [LRP, TaskRun, RouteBinding];

/** @throws NotReady for a Work that the platform with this id did not write */
export function requireManifest(work: Work, hub: string | undefined): Manifest {
  const manifest = manifestOf(work);
  if (manifest && hub !== undefined && manifest.metadata.labels?.[LABELS.hub] === hub) return manifest;
  throw new NotReady("Malformed", "this Work holds no object of the platform that the agent may make", {
    isFailure: true,
  });
}

/** The kind of the object to remove. A Work may be deleted by accident, with its namespace, for example: its object stays. */
export function findRemoved({ spec }: Work): ResourceRef | undefined {
  const ref = findWorkKind(spec.kind);
  return spec.remove && ref && REMOVED_KINDS.includes(ref) ? ref : undefined;
}

/** The Secret of an object, from its copy beside the Work. */
export function planSecret({ namespace, name }: ObjectKey, copy: ObjectOf<typeof Secret>): Draft {
  return {
    apiVersion: apiVersionOf(Secret),
    kind: Secret.kind,
    metadata: { ...(namespace !== undefined && { namespace }), name, labels: copy.metadata.labels ?? {} },
    ...(copy.type !== undefined && { type: copy.type }),
    data: copy.data ?? {},
    immutable: true,
  };
}
