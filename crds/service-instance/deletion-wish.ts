// A person's latest wish to delete what a broker provides: a repeated one makes the broker be asked again at once, however often that has failed. Pure.
import type { KubeObject } from "../../kube/api/object.ts";
import { ANNOTATIONS } from "../labels.ts";
import type { PendingOperation } from "./managed-fields.ts";

/** Characters of a wish; more say nothing else. */
const MAX_WISH = 256;

/** Names the wish; undefined for one that was uttered only once. */
function readWish(object: Pick<KubeObject, "metadata"> | undefined): string | undefined {
  if (object?.metadata.deletionTimestamp === undefined) return undefined;
  return object.metadata.annotations?.[ANNOTATIONS.deletionWish]?.slice(0, MAX_WISH);
}

/** A binding goes with its instance, so the wish to delete that one counts as well. */
export function wishOf(...objects: readonly (Pick<KubeObject, "metadata"> | undefined)[]): string | undefined {
  const wishes = objects.flatMap((object) => readWish(object) ?? []);
  return wishes.length > 0 ? wishes.join(" ") : undefined;
}

/** Has the operation been tried since the object's latest wish? */
export function isHeard(object: Pick<KubeObject, "metadata">, operation: PendingOperation | undefined): boolean {
  const wish = readWish(object);
  return wish === undefined || (operation?.wish ?? "").includes(wish);
}
