// Needs of a version of an app that only the platform's own cluster can meet. Pure.
import { REGISTRY_SECRET } from "../../crds/registry-secret.ts";
import type { Revision } from "../../crds/revision/revision.ts";
import { NotReady } from "../../kube/controller/controller.ts";

/** A cluster cannot start the version, and others may. */
export class RefusedElsewhere extends NotReady {}

/** Whether apps may mount a claim is said by a label on it, which this platform cannot read on another cluster. @throws RefusedElsewhere */
export function refuseVolumes({ spec: { volumes = [], version } }: Pick<Revision, "spec">): void {
  if (volumes.length === 0) return;
  throw new RefusedElsewhere(
    "VolumesElsewhere",
    `revision ${version} mounts volumes of bound services, which are on the platform's own cluster only: stop the app and start it, and it is placed there, where its segment's placement includes cluster local`,
    { isFailure: true },
  );
}

/** Each cluster has a credential of its own for the platform's registry; one of an app is copied nowhere. @throws RefusedElsewhere */
export function refusePullSecret(droplet: { imagePullSecretRef?: { name: string } | undefined }): void {
  const name = droplet.imagePullSecretRef?.name;
  if (name === undefined || name === REGISTRY_SECRET) return;
  throw new RefusedElsewhere(
    "PullSecretElsewhere",
    "the image is pulled by a credential of the app, which no other cluster gets: use an image that needs none, or a segment whose placement chooses cluster local alone, and restart the app",
    { isFailure: true },
  );
}
