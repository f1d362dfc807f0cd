// GUIDs of sidecars: a user's carries its own, any other is derived from the object that it is in and its name. Pure.
import type { App } from "./app/app.ts";
import type { Droplet } from "./droplet/droplet.ts";
import { deriveGUID } from "./guid.ts";
import { originalUidOf } from "./origin.ts";

type UserSidecar = NonNullable<App["spec"]["sidecars"]>[number];

/** GUID of a sidecar in an app's spec. */
export function userSidecarGUID(app: App, { guid, name }: UserSidecar): string {
  return guid ?? deriveGUID("sidecar", originalUidOf(app), name);
}

/** GUID of a sidecar that a droplet's buildpacks give its app. */
export function dropletSidecarGUID(droplet: Droplet, name: string): string {
  return deriveGUID("droplet-sidecar", originalUidOf(droplet), name);
}

/** GUIDs of all sidecars in an app's spec. */
export function userSidecarGUIDs(app: App): string[] {
  return (app.spec.sidecars ?? []).map((sidecar) => userSidecarGUID(app, sidecar));
}

/** GUIDs of all sidecars in a droplet. */
export function dropletSidecarGUIDs(droplet: Droplet): string[] {
  return (droplet.spec.sidecars ?? []).map(({ name }) => dropletSidecarGUID(droplet, name));
}
