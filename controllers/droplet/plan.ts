// Finds the droplets in use, which are kept at any age, and those whose file is still to come. Pure.
import type { App } from "../../crds/app/app.ts";
import type { Droplet } from "../../crds/droplet/droplet.ts";
import { guidOf } from "../../crds/guid.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import type { Revision } from "../../crds/revision/revision.ts";
import type { ReconcileResult } from "../../kube/controller/controller.ts";

/** In use: named by an app of the namespace, by an app's current Revision, or by an LRP. */
export function planDropletsInUse(
  apps: readonly App[],
  revisions: readonly Revision[],
  lrps: readonly LRP[],
): (droplet: Droplet) => boolean {
  const inForce = new Set(apps.flatMap((app) => app.status?.revision ?? []));
  const names = new Set([
    ...apps.flatMap((app) => app.spec.droplet?.name ?? []),
    ...revisions
      .filter((revision) => inForce.has(revision.metadata.name))
      .map((revision) => revision.spec.dropletRef.name),
  ]);
  const guids = new Set(lrps.map((lrp) => lrp.spec.droplet.guid));
  return (droplet) => names.has(droplet.metadata.name) || guids.has(guidOf(droplet));
}

export function planAwaitingUpload(): Pick<ReconcileResult, "status" | "ready"> {
  return {
    status: { state: "AwaitingUpload" },
    ready: { status: "False", reason: "AwaitingUpload", message: "waiting for the droplet's file" },
  };
}

/** A droplet whose file has become an image, or never will. */
export function planMade(
  status: Pick<NonNullable<Droplet["status"]>, "image" | "imagePullSecretRef">,
): Pick<ReconcileResult, "status" | "ready"> {
  const { image, imagePullSecretRef } = status;
  return { status: { state: "Staged", image, ...(imagePullSecretRef && { imagePullSecretRef }) } };
}

export function planUnusable(message: string): Pick<ReconcileResult, "status" | "ready"> {
  return {
    status: { state: "Failed" },
    ready: { status: "False", reason: "ContentUnusable", message, isFailure: true },
  };
}
