// Objects carry the trace of the request that created them, and apps that of their last start: controllers go on with it. Nothing is added where no span is kept.
import { App } from "../../crds/app/app.ts";
import { ANNOTATIONS } from "../../crds/labels.ts";
import { objectKey, type KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Draft, Patch } from "../../kube/client/client.ts";
import { currentTraceparent } from "../../kube/tracing/current-span.ts";
import type { CallerPermissions } from "./caller-permissions.ts";

export function withTrace(draft: Draft): Draft {
  const trace = currentTraceparent();
  if (trace === undefined) return draft;
  const annotations = { ...draft.metadata.annotations, [ANNOTATIONS.traceparent]: trace };
  return { ...draft, metadata: { ...draft.metadata, annotations } };
}

/** The patch of an app that starts or restarts it. Only for callers who may change an app's metadata: for others the whole patch would be refused. */
export async function withStartTrace(
  permissions: Pick<CallerPermissions, "decide">,
  ref: ResourceRef,
  object: KubeObject,
  patch: Patch,
): Promise<Patch> {
  const trace = currentTraceparent();
  if (trace === undefined || ref.kind !== App.kind || !isStart(patch)) return patch;
  const asked = { verb: "update", on: App, subresource: "settings", ...objectKey(object) } as const;
  if (!(await permissions.decide(asked))) return patch;
  const metadata = patch.body["metadata"] as { annotations?: object } | undefined;
  const annotations = { ...metadata?.annotations, [ANNOTATIONS.traceparent]: trace };
  return { type: "merge", body: { ...patch.body, metadata: { ...metadata, annotations } } };
}

function isStart(patch: Patch): patch is Extract<Patch, { type: "merge" }> {
  return patch.type === "merge" && (patch.body["spec"] as { restart?: unknown } | undefined)?.restart !== undefined;
}
