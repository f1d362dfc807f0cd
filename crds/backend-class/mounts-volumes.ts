// Whether anything here mounts volumes of bound services. Pure.
import type { BackendClass } from "./backend-class.ts";

/** Does the class mount PersistentVolumeClaims? */
export function mountsVolumes({ status }: Pick<BackendClass, "status">): boolean {
  return (status?.capabilities?.["volumes"] ?? "").split(/[\s,]+/).includes("persistentvolumeclaim");
}

/** Without such a runner a binding with volumes is of no use. */
export function hasVolumeRunner(classes: readonly BackendClass[]): boolean {
  return classes.some((one) => one.spec.role === "runner" && mountsVolumes(one));
}
