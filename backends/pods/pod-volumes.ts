// Volumes of a workload's pod, and where its containers find them. Pure.
import type { MountedClaim } from "../../crds/mounted-claim.ts";
import type { MountedFiles } from "../../crds/mounted-files.ts";

/** Fields of an LRP or TaskRun that become volumes. */
export interface VolumeSources {
  serviceFiles?: MountedFiles | undefined;
  volumes?: readonly MountedClaim[] | undefined;
}

const FILES_VOLUME = "service-files";

/** `volumes` of the pod; nothing where it needs none. */
export function planVolumes({ serviceFiles, volumes: claims = [] }: VolumeSources): { volumes?: object[] } {
  const volumes = [...(serviceFiles ? [planFiles(serviceFiles)] : []), ...claims.map(planClaim)];
  return volumes.length > 0 ? { volumes } : {};
}

/** Every user of the image reads them; nobody outside of the pod sees them. */
function planFiles({ secretRef, items }: MountedFiles): object {
  const secret = { secretName: secretRef.name, defaultMode: 0o444, items: items.map((item) => ({ ...item })) };
  return { name: FILES_VOLUME, secret };
}

/** A claim that is mounted twice is two volumes, one of which may be read-only. */
function planClaim({ claimName, readOnly }: MountedClaim, at: number): object {
  return { name: claimVolume(at), persistentVolumeClaim: { claimName, readOnly } };
}

const claimVolume = (at: number): string => `claim-${at}`;

/** `volumeMounts` of each container. */
export function planMounts({ serviceFiles, volumes: claims = [] }: VolumeSources): { volumeMounts?: object[] } {
  const volumeMounts = [
    ...(serviceFiles ? [{ name: FILES_VOLUME, mountPath: serviceFiles.mountPath, readOnly: true }] : []),
    ...claims.map(({ mountPath, readOnly }, at) => ({ name: claimVolume(at), mountPath, readOnly })),
  ];
  return volumeMounts.length > 0 ? { volumeMounts } : {};
}
