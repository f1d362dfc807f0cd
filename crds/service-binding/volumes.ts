// Volumes of a broker's binding: its volume_mounts as mounts of claims, or why they cannot be mounted. Pure.
import { z } from "zod";
import type { MountedClaim } from "../mounted-claim.ts";

/** The driver of volumes that are PersistentVolumeClaims of the app's namespace; `volume_id` names the claim. */
export const CLAIM_DRIVER = "persistentvolumeclaim";

/** Mounts of one app. */
export const MAX_VOLUMES = 20;

const volumeMount = z.object({
  driver: z.string(),
  container_dir: z.string().min(1).max(1024),
  mode: z.enum(["r", "rw"]),
  device_type: z.literal("shared"),
  device: z.object({ volume_id: z.string().max(253) }),
});

export type Volumes = { claims: MountedClaim[] } | { problem: string };

/** `problem` names neither a device nor its settings, which may be secret. */
export function toVolumes(mounts: readonly unknown[]): Volumes {
  const claims: MountedClaim[] = [];
  for (const mount of mounts) {
    const found = toClaim(mount);
    if ("problem" in found) return found;
    claims.push(found);
  }
  return withoutClash(claims);
}

/** Mounts of all bindings of an app. */
export function withoutClash(claims: MountedClaim[]): Volumes {
  if (claims.length > MAX_VOLUMES)
    return { problem: `there are ${claims.length} volumes, and an app may have ${MAX_VOLUMES}` };
  const places = claims.map(({ mountPath }) => mountPath);
  const twice = places.find((place, at) => places.indexOf(place) !== at);
  return twice === undefined ? { claims } : { problem: `two volumes are to be at ${twice}` };
}

function toClaim(mount: unknown): MountedClaim | { problem: string } {
  const { data, error } = volumeMount.safeParse(mount);
  if (error) {
    const [where = "volume_mounts"] = error.issues.map(({ path }) => path.join("."));
    return { problem: `${where} of a volume is not as the Open Service Broker API has it` };
  }
  if (data.driver !== CLAIM_DRIVER)
    return { problem: `volumes of driver ${data.driver.slice(0, 63)} cannot be mounted here, only of ${CLAIM_DRIVER}` };
  const { volume_id: claimName } = data.device;
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(claimName))
    return { problem: "volume_id of a volume is no name of a claim" };
  const mountPath = data.container_dir.replace(/(?<=.)\/+$/, "");
  return isMountable(mountPath)
    ? { claimName, mountPath, readOnly: data.mode === "r" }
    : { problem: `nothing can be mounted at ${mountPath.slice(0, 255)}: the platform, the image or the app is there` };
}

/** Folders of the system, of the lifecycle and of the platform. */
const TAKEN = ["bin", "cnb", "cupola", "dev", "etc", "lib", "lib64", "proc", "sbin", "sys", "usr"];
/** Folders of which only what is below can be replaced. */
const KEPT = ["/workspace", "/layers", "/home", "/home/vcap", "/home/vcap/app", "/tmp", "/var", "/run"];

function isMountable(path: string): boolean {
  if (!/^\/[^/]+(\/[^/]+)*$/.test(path) || /[:\0]/.test(path)) return false;
  const parts = path.slice(1).split("/");
  return !parts.includes("..") && !parts.includes(".") && !TAKEN.includes(parts[0] ?? "") && !KEPT.includes(path);
}
