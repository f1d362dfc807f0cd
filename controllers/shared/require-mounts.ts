// Refuses a start on a class that cannot give instances what their bound services need. Pure.
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { mountsVolumes } from "../../crds/backend-class/mounts-volumes.ts";
import { Stalled } from "../../kube/controller/controller.ts";
import type { ServicesSnapshot } from "./services-snapshot.ts";

/** @throws Stalled with the next step */
export function requireMounts(
  { metadata: { name }, status }: BackendClass,
  { files, volumes = [] }: Pick<ServicesSnapshot, "files" | "volumes">,
): void {
  if (volumes.length > 0 && !mountsVolumes({ status }))
    throw new Stalled(
      "VolumesNotSupported",
      `the class ${name} mounts no volumes, and a bound service gives the app one: unbind it, or name another class`,
    );
  if (files && status?.capabilities?.["serviceFiles"] !== "true")
    throw new Stalled(
      "ServiceFilesNotSupported",
      `the class ${name} gives instances no files of bound services: switch the app's features service-binding-k8s and file-based-vcap-services off, or name another class`,
    );
}
