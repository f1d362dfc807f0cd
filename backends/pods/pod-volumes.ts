// Volumes of a workload's pod, and where its containers find them. Pure.
import type { MountedFiles } from "../../crds/mounted-files.ts";

/** Fields of an LRP or TaskRun that become volumes. */
export interface VolumeSources {
  serviceFiles?: MountedFiles | undefined;
}

const FILES_VOLUME = "service-files";

/** `volumes` of the pod; nothing where it needs none. */
export function planVolumes({ serviceFiles }: VolumeSources): { volumes?: object[] } {
  if (!serviceFiles) return {};
  const { secretRef, items } = serviceFiles;
  // Every user of the image reads them; nobody outside of the pod sees them.
  const secret = { secretName: secretRef.name, defaultMode: 0o444, items: items.map((item) => ({ ...item })) };
  return { volumes: [{ name: FILES_VOLUME, secret }] };
}

/** `volumeMounts` of each container. */
export function planMounts({ serviceFiles }: VolumeSources): { volumeMounts?: object[] } {
  return serviceFiles
    ? { volumeMounts: [{ name: FILES_VOLUME, mountPath: serviceFiles.mountPath, readOnly: true }] }
    : {};
}
