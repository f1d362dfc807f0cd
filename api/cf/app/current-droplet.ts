// The droplet that an app runs at its next start.
import type { App } from "../../../crds/app/app.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { isComplete } from "../../../crds/droplet/rules.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { unprocessable } from "../../http/errors.ts";

/** The droplet that an app will run at its next start, if it exists. */
export function currentDroplet(cache: ClusterCache, app: App): Droplet | undefined {
  const { droplet } = app.spec;
  return droplet && cache.store(Droplet).find({ namespace: app.metadata.namespace ?? "", name: droplet.name });
}

/** @throws CFError 422, in CF's words, for a droplet whose file is still to come */
export function requireStaged(droplet: Droplet): Droplet {
  if (!isComplete(droplet)) throw unprocessable("droplet must be in staged state");
  return droplet;
}
