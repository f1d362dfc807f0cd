// Rules of Droplets. Pure.
import type { Droplet } from "./droplet.ts";

/** A host droplet that is made before its file comes: nothing can run it yet. */
export function isAwaitingUpload({ spec }: Pick<Droplet, "spec">): boolean {
  return spec.kind === "host" && spec.content === undefined;
}
