// Deletes the contents of a space's namespace: all our objects, with their finalizers, before the namespace itself.
import { App } from "../../crds/app/app.ts";
import { Build } from "../../crds/build/build.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { Package } from "../../crds/package/package.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { Route } from "../../crds/route/route.ts";
import { Staging } from "../../crds/staging/staging.ts";
import { NotReady, type ReconcileContext } from "../../kube/controller/controller.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { deleteAll } from "../shared/history-limits.ts";

/** In the order in which they are asked to go: what leads to others first, so that nothing is made anew. */
export const SPACE_CONTENT_KINDS: readonly ResourceRef[] = [
  Route,
  App,
  Process,
  Build,
  Package,
  Droplet,
  Revision,
  Staging,
  RouteBinding,
  LRP,
];

/** What there is of ours in a namespace, kind by kind. */
type SpaceContents = readonly { ref: ResourceRef; objects: readonly KubeObject[] }[];

/** As this process has heard of it. */
export function listCachedContents(namespace: string, { read }: ReconcileContext): SpaceContents {
  return SPACE_CONTENT_KINDS.map((ref) => ({ ref, objects: read.list(ref, { namespace }) }));
}

/** As the server has it, for the last look at a namespace that stays when its Space goes: a silent watch may have kept something from us. */
export async function listLiveContents(namespace: string, { client }: ReconcileContext): Promise<SpaceContents> {
  return await Promise.all(
    SPACE_CONTENT_KINDS.map(async (ref) => ({ ref, objects: (await client.list(ref, { namespace })).items })),
  );
}

/** @throws NotReady unless there is none */
export async function deleteContents(
  namespace: string,
  contents: SpaceContents,
  { client }: ReconcileContext,
): Promise<void> {
  const remaining = contents.filter(({ objects }) => objects.length > 0);
  for (const { ref, objects } of remaining)
    await deleteAll(
      client,
      ref,
      objects.filter((object) => !object.metadata.deletionTimestamp),
    );
  if (remaining.length === 0) return;
  const counts = remaining.map(({ ref, objects }) => `${objects.length} ${ref.plural}`).join(", ");
  // The watches wake us as they go; the clock is for one that went before it was seen going.
  throw new NotReady("ContentsRemain", `waiting until namespace ${namespace} is empty: ${counts}`, {
    requeueAfterMs: 1000,
  });
}
