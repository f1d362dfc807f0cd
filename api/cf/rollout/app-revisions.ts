// The revisions of an app as cf counts them.
import type { App } from "../../../crds/app/app.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { findRelease, listReleases } from "../../../crds/revision/releases.ts";
import { Revision } from "../../../crds/revision/revision.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { appKey } from "../app/owner-app.ts";

/** All Revisions of an app, repeats included. */
export function revisionsOf(cache: ClusterCache, app: App): readonly Revision[] {
  return cache.store(Revision).byIndex("app", appKey(app));
}

/** A revision for each version that cf shows, oldest first. */
export function releasesOf(cache: ClusterCache, app: App): Revision[] {
  return listReleases(revisionsOf(cache, app));
}

/** The revision that cf shows for the Revision of this object name; undefined when it shows none. */
export function releaseOf(cache: ClusterCache, app: App, name: string | undefined): Revision | undefined {
  const revision = revisionNamed(cache, app, name);
  return revision && findRelease(revision, revisionsOf(cache, app));
}

export function revisionNamed(cache: ClusterCache, app: App, name: string | undefined): Revision | undefined {
  return name === undefined ? undefined : cache.store(Revision).find({ namespace: app.metadata.namespace ?? "", name });
}

/** The droplet of a Revision, unless it is gone or expired. */
export function deployableDroplet(cache: ClusterCache, revision: Revision): Droplet | undefined {
  const { namespace = "" } = revision.metadata;
  const droplet = cache.store(Droplet).find({ namespace, name: revision.spec.dropletRef.name });
  return (droplet?.status?.state ?? "Staged") === "Staged" ? droplet : undefined;
}

/** Whether cf shows revisions of the app. */
export function hasRevisions(app: App): boolean {
  return app.spec.features?.revisions ?? true;
}
