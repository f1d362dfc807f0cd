// The droplet that an app runs at its next start.
import type { App } from "../../../crds/app/app.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";

/** The droplet that an app will run at its next start, if it exists. */
export function currentDroplet(cache: ClusterCache, app: App): Droplet | undefined {
  const { droplet } = app.spec;
  return droplet && cache.store(Droplet).find({ namespace: app.metadata.namespace ?? "", name: droplet.name });
}
