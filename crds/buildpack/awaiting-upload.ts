// Whether a Buildpack has bits.
import type { Buildpack } from "./buildpack.ts";

/** Neither uploaded nor found by a builder itself: no build can use it yet. */
export function isAwaitingUpload({ spec: { path, content } }: Pick<Buildpack, "spec">): boolean {
  return path === undefined && content === undefined;
}
