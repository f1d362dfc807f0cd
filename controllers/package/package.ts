// Reports whether a Package's content exists, and deletes the oldest packages beyond the limit.
import { App } from "../../crds/app/app.ts";
import { Build } from "../../crds/build/build.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Package } from "../../crds/package/package.ts";
import { defineController, watch, type Controller, type ReconcileContext } from "../../kube/controller/controller.ts";
import { OWNING_APP_INDEX, toAppOwnership, indexByApp, getApp, mapAppToOwned } from "../shared/app-owned.ts";
import type { HasContent } from "../shared/has-content.ts";
import { HISTORY_LIMITS, planExcess, deleteAll } from "../shared/history-limits.ts";
import { indexByGUID, GUID_INDEX, resolveGUID } from "../shared/guid.ts";
import { getTenancy, TENANCY_KINDS } from "../shared/tenancy.ts";
import { planPackage, planPackagesInUse } from "./plan.ts";

export function packageController(hasContent: HasContent): Controller {
  return defineController({
    name: "package",
    for: Package,
    reads: [...TENANCY_KINDS, Build, Droplet],
    indexes: { [GUID_INDEX]: indexByGUID, [OWNING_APP_INDEX]: indexByApp },
    watches: [watch(App, mapAppToOwned)],

    async reconcile(pkg, context) {
      const app = getApp(context.read, pkg);
      const { labels } = resolveGUID(Package, pkg, context);
      // A push waits until its package is ready: the clean-up follows.
      if (pkg.spec.content === undefined || pkg.status?.state === "Ready") await deleteExcessPackages(pkg, context);
      return {
        ...toAppOwnership(app, resolveGUID(App, app, context).guid, labels),
        ...planPackage(pkg, await hasPackageContent(pkg, hasContent, context)),
      };
    },
  });
}

async function hasPackageContent(
  pkg: Package,
  hasContent: HasContent,
  { read }: ReconcileContext,
): Promise<boolean | undefined> {
  const digest = pkg.spec.content?.digest;
  // Content is stored by its digest. Only the platform removes it, and never while this package exists.
  if (digest === undefined || pkg.status?.state === "Ready") return digest === undefined ? undefined : true;
  return await hasContent(getTenancy(read, pkg.metadata.namespace ?? "").space.guid, digest);
}

async function deleteExcessPackages(pkg: Package, { read, client }: ReconcileContext): Promise<void> {
  const { namespace } = pkg.metadata;
  const siblings = read.byIndex(Package, OWNING_APP_INDEX, indexByApp(pkg)[0] ?? "", pkg.metadata.namespace);
  if (siblings.length <= HISTORY_LIMITS.packages) return;
  const inUse = planPackagesInUse(
    read.list(App, { namespace }),
    read.list(Build, { namespace }),
    read.list(Droplet, { namespace }),
  );
  await deleteAll(client, Package, planExcess(siblings, HISTORY_LIMITS.packages, inUse));
}
