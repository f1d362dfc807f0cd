// Presents an App as CF's JSON.
import { App } from "../../crds/app/app.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { Space } from "../../crds/space/space.ts";
import { currentDroplet } from "../cf/app/current-droplet.ts";
import { presentLifecycle, stackOf } from "../cf/app/lifecycle.ts";
import type { CacheKey } from "../lists/cached-json.ts";
import { presentIdentity, link, presentMetadata, toOneRelationship } from "../http/presentation.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

export function presentApp(cache: ClusterCache, app: App, base: string): object {
  const guid = cache.guid(App, app);
  const space = cache.spaceOf(app.metadata.namespace);
  const spaceGUID = space && cache.guid(Space, space);
  const droplet = currentDroplet(cache, app);
  const dropletGUID = droplet && cache.guid(Droplet, droplet);
  return {
    ...presentIdentity(cache, App, app),
    name: displayNameOf(app),
    state: app.spec.state === "Started" ? "STARTED" : "STOPPED",
    lifecycle: presentLifecycle(cache, app.spec.lifecycle),
    relationships: { space: toOneRelationship(spaceGUID), current_droplet: { data: { guid: dropletGUID ?? null } } },
    ...presentMetadata(app),
    links: links(base, guid, spaceGUID ?? ""),
  };
}

function links(base: string, guid: string, space: string): object {
  const self = `${base}/v3/apps/${guid}`;
  return {
    self: link(self),
    environment_variables: link(`${self}/environment_variables`),
    space: link(`${base}/v3/spaces/${space}`),
    processes: link(`${self}/processes`),
    packages: link(`${self}/packages`),
    current_droplet: link(`${self}/droplets/current`),
    droplets: link(`${self}/droplets`),
    tasks: link(`${self}/tasks`),
    start: link(`${self}/actions/start`, "POST"),
    stop: link(`${self}/actions/stop`, "POST"),
    clear_buildpack_cache: link(`${self}/actions/clear_buildpack_cache`, "POST"),
    revisions: link(`${self}/revisions`),
    deployed_revisions: link(`${self}/revisions/deployed`),
    features: link(`${self}/features`),
  };
}

/** Everything besides the app that its presentation depends on. */
export function appTextKey(cache: ClusterCache, app: App, base: string): CacheKey {
  const space = cache.spaceOf(app.metadata.namespace);
  const droplet = currentDroplet(cache, app);
  return [
    base,
    cache.guid(App, app),
    space && cache.guid(Space, space),
    droplet && cache.guid(Droplet, droplet),
    stackOf(cache, app),
  ];
}
