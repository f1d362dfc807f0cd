// The end of what is in a space's namespace: every object of ours goes, and its finalizers are waited for, before the namespace does.
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
import { NotReady, type ReconcileContext } from "../../kube/controller.ts";
import type { ResourceRef } from "../../kube/resource-ref.ts";
import { removeAll } from "../history.ts";

/** In the order in which they are asked to go: what leads to others first, so that nothing is made anew. */
export const SPACE_CONTENTS: readonly ResourceRef[] = [Route, App, Process, Build, Package, Droplet, Revision, Staging, RouteBinding, LRP];

/** @throws NotReady until the namespace holds no object of ours */
export async function endContents(namespace: string, { read, client }: ReconcileContext): Promise<void> {
  const remaining: string[] = [];
  for (const ref of SPACE_CONTENTS) {
    const objects = read.list(ref, { namespace });
    await removeAll(client, ref, objects.filter((object) => !object.metadata.deletionTimestamp));
    if (objects.length > 0) remaining.push(`${objects.length} ${ref.plural}`);
  }
  // The watches wake us as they go; the clock is for one that went before it was seen going.
  if (remaining.length > 0) throw new NotReady("ContentsRemain", `waiting until namespace ${namespace} is empty: ${remaining.join(", ")}`, { requeueAfterMs: 1000 });
}

/**
 * The last look at a namespace that stays when its Space goes: the server is asked, since a silent watch may have kept something from us.
 * @throws NotReady until the namespace holds no object of ours
 */
export async function requireEmpty(namespace: string, { client }: ReconcileContext): Promise<void> {
  for (const ref of SPACE_CONTENTS) {
    const { items } = await client.list(ref, { namespace });
    await removeAll(client, ref, items.filter((object) => !object.metadata.deletionTimestamp));
    if (items.length > 0) throw new NotReady("ContentsRemain", `waiting until namespace ${namespace} is empty: ${items.length} ${ref.plural}`, { requeueAfterMs: 1000 });
  }
}
