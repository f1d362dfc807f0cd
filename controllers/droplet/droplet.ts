// Puts a Droplet in force: its content is there, it belongs to its app, and the oldest ones beyond the kept number go.
import { App } from "../../crds/app/app.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { defineController, NotReady, watch, type Controller, type ReconcileContext } from "../../kube/controller/controller.ts";
import { APP_INDEX, belonging, byApp, getApp, partsOf } from "../shared/app-owned.ts";
import { KEPT, planSurplus, removeAll } from "../shared/history-limits.ts";
import { byGUID, GUID_INDEX, settleGUID } from "../shared/identity.ts";
import { getPlace, PLACE_READS } from "../shared/tenancy.ts";
import { planDropletReferences } from "./plan.ts";

/** Does the space have this content? (The blob store's `has`.) */
export type HasContent = (space: string, digest: string) => Promise<boolean>;

export function dropletController(hasContent: HasContent): Controller {
  return defineController({
    name: "droplet",
    for: Droplet,
    workers: 1,
    reads: [...PLACE_READS, Revision, LRP],
    indexes: { [GUID_INDEX]: byGUID, [APP_INDEX]: byApp },
    watches: [watch(App, partsOf)],

    async reconcile(droplet, context) {
      const app = getApp(context.read, droplet);
      const { labels } = settleGUID(Droplet, droplet, context);
      await checkContent(droplet, hasContent, context);
      await removeSurplus(droplet, context);
      const appGUID = settleGUID(App, app, context).guid;
      return { ...belonging(app, appGUID, labels), status: { state: "Staged" } };
    },
  });
}

async function checkContent(droplet: Droplet, hasContent: HasContent, { read }: ReconcileContext): Promise<void> {
  const digest = droplet.spec.content?.digest;
  if (droplet.spec.kind !== "host" || digest === undefined || droplet.status?.state === "Staged") return;
  const { space } = getPlace(read, droplet.metadata.namespace ?? "");
  if (!(await hasContent(space.guid, digest))) {
    throw new NotReady("ContentMissing", `this space has no content ${digest}; build it here, or copy the droplet through the API`, { requeueAfterMs: 10_000 });
  }
}

async function removeSurplus(droplet: Droplet, { read, client }: ReconcileContext): Promise<void> {
  const { namespace } = droplet.metadata;
  const siblings = read.byIndex(Droplet, APP_INDEX, byApp(droplet)[0] ?? "", droplet.metadata.namespace);
  if (siblings.length <= KEPT.droplets) return;
  const inUse = planDropletReferences(read.list(App, { namespace }), read.list(Revision, { namespace }), read.list(LRP, { namespace }));
  await removeAll(client, Droplet, planSurplus(siblings, KEPT.droplets, (candidate) => inUse(candidate)));
}
