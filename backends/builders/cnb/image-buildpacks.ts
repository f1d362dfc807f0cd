// The Buildpack objects of a builder image: those that its order tries, so that `cf buildpacks` lists them and an admin can move and disable them. Pure.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { objectNameFor } from "../../../crds/object-names.ts";
import { apiVersionOf } from "../../../kube/api/resource-ref.ts";
import type { Draft } from "../../../kube/client/client.ts";
import type { BuilderImage } from "./builder-image.ts";
import { listByLeaders } from "./image-order.ts";

export interface ImageBuildpacksPlan {
  /** Made once; what an admin changes in them stays. */
  create: Draft[];
  /** Those that the image's order no longer has; none when it states no order, which may be one bad push of the image. */
  remove: Buildpack[];
  /** Objects whose status names another version than the image has. */
  identify: { buildpack: Buildpack; status: { id: string; version: string } }[];
}

/** So many are listed; detection tries all. */
const MAX_LISTED = 100;

/** `known` are all Buildpacks. New ones come after them: by the groups of the image that they lead, so that an optional one does not move to the front. */
export function planImageBuildpacks(
  owner: BackendClass,
  { order, buildpacks }: Pick<BuilderImage, "order" | "buildpacks">,
  known: readonly Buildpack[],
): ImageBuildpacksPlan {
  const versions = new Map(
    order.flat().map(({ id, version }): [string, string] => [id, version ?? buildpacks.get(id)?.at(-1) ?? ""]),
  );
  const ids = listByLeaders(order).slice(0, MAX_LISTED);
  const ours = known.filter(({ spec }) => spec.builder === owner.metadata.name);
  const names = new Set(known.map(({ metadata }) => metadata.name));
  const last = Math.max(0, ...known.filter(({ spec }) => spec.lifecycle === "buildpack").map(positionOf));
  return {
    create: ids
      .filter((id) => !names.has(toObjectName(id)))
      .map((id, at) => toDraft(owner, id, Math.min(last + at + 1, 10_000))),
    remove: ids.length === 0 ? [] : ours.filter(({ spec }) => !ids.includes(spec.path ?? "")),
    identify: ours.flatMap((buildpack) => {
      const id = buildpack.spec.path ?? "";
      const version = versions.get(id);
      const { status } = buildpack;
      return version === undefined || (status?.id === id && status.version === version)
        ? []
        : [{ buildpack, status: { id, version } }];
    }),
  };
}

function positionOf({ spec }: Buildpack): number {
  return spec.position;
}

function toObjectName(id: string): string {
  return objectNameFor(id, "buildpack");
}

function toDraft({ metadata }: BackendClass, id: string, position: number): Draft {
  const owner = { apiVersion: apiVersionOf(BackendClass), kind: BackendClass.kind, name: metadata.name };
  return {
    apiVersion: apiVersionOf(Buildpack),
    kind: Buildpack.kind,
    metadata: {
      name: toObjectName(id),
      namespace: SYSTEM_NAMESPACE,
      ownerReferences: [{ ...owner, uid: metadata.uid ?? "" }],
    },
    spec: { name: id, position, path: id, builder: metadata.name },
  };
}
