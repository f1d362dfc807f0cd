// A person's latest wish to delete what a broker provides: it is asked again at once, however often it has failed. Pure.
import { ANNOTATIONS } from "../../../crds/labels.ts";
import type { KubeObject } from "../../../kube/api/object.ts";

/** A binding goes with its instance, so the wish to delete that one counts as well. */
export function wishOf(...objects: readonly (KubeObject | undefined)[]): string | undefined {
  const wishes = objects.flatMap((object) =>
    object?.metadata.deletionTimestamp === undefined
      ? []
      : (object.metadata.annotations?.[ANNOTATIONS.deletionWish] ?? []),
  );
  return wishes.length > 0 ? wishes.join(" ").slice(0, 1024) : undefined;
}
