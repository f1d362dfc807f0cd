// Refuses a start on a class that cannot give instances what their bound services need. Pure.
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Stalled } from "../../kube/controller/controller.ts";
import type { ServicesSnapshot } from "./services-snapshot.ts";

/** @throws Stalled with the next step */
export function requireMounts(
  { metadata: { name }, status }: BackendClass,
  { files }: Pick<ServicesSnapshot, "files">,
): void {
  if (files && status?.capabilities?.["serviceFiles"] !== "true")
    throw new Stalled(
      "ServiceFilesNotSupported",
      `the class ${name} gives instances no files of bound services: switch the app's features service-binding-k8s and file-based-vcap-services off, or name another class`,
    );
}
