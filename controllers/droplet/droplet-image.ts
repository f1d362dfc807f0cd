// The image of a droplet's file: made once, on the run image that a builder class names.
import { BlobStoreUnavailable } from "../../blobs/blob-store.ts";
import { UnusableImage } from "../../blobs/registry/images/launcher-layer.ts";
import type { MakeDropletImage } from "../../blobs/registry/images/make-droplet-image.ts";
import { ImageNotFound } from "../../blobs/registry/registry-error.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { findDropletBase } from "../../crds/backend-class/droplet-place.ts";
import type { Droplet } from "../../crds/droplet/droplet.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { guidOf } from "../../crds/guid.ts";
import { REGISTRY_SECRET } from "../../crds/registry-secret.ts";
import { Secret } from "../../kube/api/builtin.ts";
import { NotReady, type ReconcileContext, type ReconcileResult } from "../../kube/controller/controller.ts";
import { planMade, planUnusable } from "./plan.ts";

/** Whoever asks for an image, and who makes it. */
interface ImageOrder {
  /** GUID of the space. */
  space: string;
  appGUID: string;
  makeImage: MakeDropletImage | undefined;
}

const RECHECK_MS = 10_000;

/** @throws NotReady until a class and the registry allow it */
export async function reconcileImage(
  droplet: Droplet,
  order: ImageOrder,
  context: Pick<ReconcileContext, "read" | "client">,
): Promise<Pick<ReconcileResult, "status" | "ready">> {
  if (droplet.status?.image !== undefined) return planMade(droplet.status);
  try {
    const image = await makeImage(droplet, order, context);
    const secret = await context.client.find(Secret, { namespace: SYSTEM_NAMESPACE, name: REGISTRY_SECRET });
    return planMade({ image, ...(secret && { imagePullSecretRef: { name: REGISTRY_SECRET } }) });
  } catch (error) {
    if (error instanceof UnusableImage) return planUnusable(error.message);
    if (!(error instanceof ImageNotFound || error instanceof BlobStoreUnavailable)) throw error;
    // A registry that is away, or an image that an operator still has to push.
    throw notMade(error.message);
  }
}

function makeImage(
  droplet: Droplet,
  { space, appGUID, makeImage: make }: ImageOrder,
  { read }: Pick<ReconcileContext, "read">,
): Promise<string> {
  const found = findDropletBase(read.list(BackendClass));
  if (!make || !found)
    throw notMade(
      "no builder class says on which run image it is put: kubectl get cfclass -o yaml shows what they say",
    );
  return make({
    space,
    app: appGUID,
    droplet: guidOf(droplet),
    content: droplet.spec.content?.digest ?? "",
    processTypes: Object.keys(droplet.spec.processTypes),
    base: found.base,
  });
}

function notMade(why: string): NotReady {
  return new NotReady("ImageNotMade", `the droplet's file has not become an image yet: ${why}`, {
    isFailure: true,
    requeueAfterMs: RECHECK_MS,
  });
}
