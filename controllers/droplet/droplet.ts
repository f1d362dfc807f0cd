// Reconciles a Droplet: checks its content, makes its app the owner, and deletes the oldest droplets beyond the limit.
import type { MakeDropletImage } from "../../blobs/registry/images/make-droplet-image.ts";
import { App } from "../../crds/app/app.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { isAwaitingUpload, needsImage } from "../../crds/droplet/rules.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import {
  defineController,
  NotReady,
  watch,
  type Controller,
  type ReconcileContext,
} from "../../kube/controller/controller.ts";
import { OWNING_APP_INDEX, toAppOwnership, indexByApp, getApp, mapAppToOwned } from "../shared/app-owned.ts";
import type { HasContent } from "../shared/has-content.ts";
import { HISTORY_LIMITS, planExcess, deleteAll } from "../shared/history-limits.ts";
import { indexByGUID, GUID_INDEX, resolveGUID } from "../shared/guid.ts";
import { getTenancy, TENANCY_KINDS } from "../shared/tenancy.ts";
import { reconcileImage } from "./droplet-image.ts";
import { planAwaitingUpload, planDropletsInUse } from "./plan.ts";

export interface DropletOptions {
  hasContent: HasContent;
  makeDropletImage?: MakeDropletImage | undefined;
}

export function dropletController(options: DropletOptions): Controller {
  return defineController({
    name: "droplet",
    for: Droplet,
    // A droplet whose image takes long must not hold up the others.
    workers: 4,
    reads: [...TENANCY_KINDS, Revision, LRP, BackendClass],
    indexes: { [GUID_INDEX]: indexByGUID, [OWNING_APP_INDEX]: indexByApp },
    watches: [watch(App, mapAppToOwned)],

    async reconcile(droplet, context) {
      const app = getApp(context.read, droplet);
      const { labels } = resolveGUID(Droplet, droplet, context);
      await requireContent(droplet, options.hasContent, context);
      await deleteExcessDroplets(droplet, context);
      const appGUID = resolveGUID(App, app, context).guid;
      if (isAwaitingUpload(droplet)) return { ...toAppOwnership(app, appGUID, labels), ...planAwaitingUpload() };
      if (!needsImage(droplet)) return { ...toAppOwnership(app, appGUID, labels), status: { state: "Staged" } };
      const { space } = getTenancy(context.read, droplet.metadata.namespace ?? "");
      const order = { space: space.guid, appGUID, makeImage: options.makeDropletImage };
      const image = await reconcileImage(droplet, order, context);
      return { ...toAppOwnership(app, appGUID, labels), ...image };
    },
  });
}

async function requireContent(droplet: Droplet, hasContent: HasContent, { read }: ReconcileContext): Promise<void> {
  const digest = droplet.spec.content?.digest;
  if (droplet.spec.kind !== "host" || digest === undefined || droplet.status?.state === "Staged") return;
  const { space } = getTenancy(read, droplet.metadata.namespace ?? "");
  if (!(await hasContent(space.guid, digest))) {
    throw new NotReady(
      "ContentMissing",
      `this space has no content ${digest}; build it here, or copy the droplet through the API`,
      { isFailure: true, requeueAfterMs: 10_000 },
    );
  }
}

async function deleteExcessDroplets(droplet: Droplet, { read, client }: ReconcileContext): Promise<void> {
  const { namespace } = droplet.metadata;
  const siblings = read.byIndex(Droplet, OWNING_APP_INDEX, indexByApp(droplet)[0] ?? "", droplet.metadata.namespace);
  if (siblings.length <= HISTORY_LIMITS.droplets) return;
  const inUse = planDropletsInUse(
    read.list(App, { namespace }),
    read.list(Revision, { namespace }),
    read.list(LRP, { namespace }),
  );
  await deleteAll(
    client,
    Droplet,
    planExcess(siblings, HISTORY_LIMITS.droplets, (candidate) => inUse(candidate)),
  );
}
