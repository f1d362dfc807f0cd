// Rules of Droplets. Pure.
import type { Droplet } from "./droplet.ts";

/** The part of a droplet that a runner starts. */
export type Runnable = Pick<Droplet["spec"], "kind" | "image" | "imagePullSecretRef" | "content" | "root">;

/** A host droplet that is made before its file comes: nothing can run it yet. */
export function isAwaitingUpload({ spec }: Pick<Droplet, "spec">): boolean {
  return spec.kind === "host" && spec.content === undefined;
}

/** A file that no runner unpacks: the platform makes an image of it. */
export function needsImage({ spec }: Pick<Droplet, "spec">): boolean {
  return spec.kind === "host" && spec.content !== undefined && spec.root === undefined;
}

/** Whether there is something to run: a file that becomes an image is nothing until then. */
export function isComplete(droplet: Pick<Droplet, "spec" | "status">): boolean {
  return !isAwaitingUpload(droplet) && (!needsImage(droplet) || droplet.status?.image !== undefined);
}

/** The image that runs: the image that the platform made of the droplet's file, or the droplet itself. */
export function toRunnable({ spec, status }: Pick<Droplet, "spec" | "status">): Runnable {
  if (needsImage({ spec }) && status?.image !== undefined) {
    const { image, imagePullSecretRef } = status;
    return { kind: "cnb", image, ...(imagePullSecretRef && { imagePullSecretRef }) };
  }
  const { kind, image, imagePullSecretRef, content, root } = spec;
  return {
    kind,
    ...(image !== undefined && { image }),
    ...(imagePullSecretRef && { imagePullSecretRef }),
    ...(content && { content }),
    ...(root !== undefined && { root }),
  };
}
