// The state of a Package, and which packages are in use. Pure.
import type { App } from "../../crds/app/app.ts";
import type { Build } from "../../crds/build/build.ts";
import type { Droplet } from "../../crds/droplet/droplet.ts";
import type { Package } from "../../crds/package/package.ts";
import type { ReconcileResult } from "../../kube/controller/controller.ts";

/** `hasContent`: whether the content of the package's digest exists; undefined without a digest. */
export function planPackage(
  pkg: Package,
  hasContent: boolean | undefined,
): Pick<ReconcileResult, "status" | "ready" | "requeueAfterMs"> {
  if (pkg.spec.type === "docker") {
    if (pkg.spec.image) return { status: { state: "Ready", error: undefined } };
    return {
      status: { state: "Failed", error: "a docker package needs spec.image" },
      ready: { status: "False", reason: "ImageMissing", message: "a docker package needs spec.image", isFailure: true },
    };
  }
  if (hasContent === undefined && pkg.spec.files) return { status: { state: "Ready", error: undefined } };
  if (hasContent === undefined)
    return {
      status: { state: "AwaitingUpload" },
      ready: { status: "False", reason: "AwaitingUpload", message: "waiting for the bits" },
    };
  if (hasContent) return { status: { state: "Ready", error: undefined } };
  const message = `this space has no content ${pkg.spec.content?.digest ?? ""}; upload it again`;
  return {
    status: { state: "ProcessingUpload" },
    ready: { status: "False", reason: "ContentMissing", message, isFailure: true },
    requeueAfterMs: 10_000,
  };
}

/** In use: being built, or behind a droplet that an app names. */
export function planPackagesInUse(
  apps: readonly App[],
  builds: readonly Build[],
  droplets: readonly Droplet[],
): (pkg: Package) => boolean {
  const current = new Set(apps.flatMap((app) => app.spec.droplet?.name ?? []));
  const names = new Set([
    ...builds
      .filter((build) => build.status?.state !== "Staged" && build.status?.state !== "Failed")
      .map((build) => build.spec.packageRef.name),
    ...droplets
      .filter((droplet) => current.has(droplet.metadata.name))
      .flatMap((droplet) => droplet.spec.packageRef?.name ?? []),
  ]);
  return (pkg) => names.has(pkg.metadata.name);
}
