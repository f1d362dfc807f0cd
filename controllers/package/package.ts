// Says whether a Package's content is there, and removes the oldest ones beyond the kept number.
import { App } from "../../crds/app/app.ts";
import { Build } from "../../crds/build/build.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Package } from "../../crds/package/package.ts";
import { defineController, watch, type Controller, type ReconcileContext } from "../../kube/controller/controller.ts";
import { APP_INDEX, belonging, byApp, getApp, partsOf } from "../shared/app-owned.ts";
import { KEPT, planSurplus, removeAll } from "../shared/history-limits.ts";
import { byGUID, GUID_INDEX, settleGUID } from "../shared/identity.ts";
import { getPlace, PLACE_READS } from "../shared/tenancy.ts";
import { planPackage, planPackageReferences } from "./plan.ts";

/** Does the space have this content? (The blob store's `has`.) */
type HasContent = (space: string, digest: string) => Promise<boolean>;

export function packageController(hasContent: HasContent): Controller {
  return defineController({
    name: "package",
    for: Package,
    reads: [...PLACE_READS, Build, Droplet],
    indexes: { [GUID_INDEX]: byGUID, [APP_INDEX]: byApp },
    watches: [watch(App, partsOf)],

    async reconcile(pkg, context) {
      const app = getApp(context.read, pkg);
      const { labels } = settleGUID(Package, pkg, context);
      await removeSurplus(pkg, context);
      return { ...belonging(app, settleGUID(App, app, context).guid, labels), ...planPackage(pkg, await isThere(pkg, hasContent, context)) };
    },
  });
}

async function isThere(pkg: Package, hasContent: HasContent, { read }: ReconcileContext): Promise<boolean | undefined> {
  const digest = pkg.spec.content?.digest;
  // Content is named by what it is: once there, the platform alone removes it, and never while this package lives.
  if (digest === undefined || pkg.status?.state === "Ready") return digest === undefined ? undefined : true;
  return await hasContent(getPlace(read, pkg.metadata.namespace ?? "").space.guid, digest);
}

async function removeSurplus(pkg: Package, { read, client }: ReconcileContext): Promise<void> {
  const { namespace } = pkg.metadata;
  const siblings = read.byIndex(Package, APP_INDEX, byApp(pkg)[0] ?? "", pkg.metadata.namespace);
  if (siblings.length <= KEPT.packages) return;
  const inUse = planPackageReferences(read.list(App, { namespace }), read.list(Build, { namespace }), read.list(Droplet, { namespace }));
  await removeAll(client, Package, planSurplus(siblings, KEPT.packages, inUse));
}
