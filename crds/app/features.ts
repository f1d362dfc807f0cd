// Features of an app that decide how it finds its bound services. Pure.
import type { App } from "./app.ts";

/** Where files of bindings are, and the variables that say so, as in Cloud Foundry. */
export const BINDINGS_FOLDER = "/etc/cf-service-bindings";
/** The file with VCAP_SERVICES in that folder. */
export const VCAP_SERVICES_FILE = "vcap_services";

/** environment: VCAP_SERVICES. folder: SERVICE_BINDING_ROOT. file: VCAP_SERVICES_FILE_PATH. */
export type ServicesDelivery = "environment" | "folder" | "file";

export function servicesDelivery({ spec }: Pick<App, "spec">): ServicesDelivery {
  if (spec.features?.serviceBindingK8s) return "folder";
  return spec.features?.fileBasedVcapServices ? "file" : "environment";
}

/** The variable that names the place of the files. */
export function filesVariable(delivery: Exclude<ServicesDelivery, "environment">): { name: string; value: string } {
  return delivery === "folder"
    ? { name: "SERVICE_BINDING_ROOT", value: BINDINGS_FOLDER }
    : { name: "VCAP_SERVICES_FILE_PATH", value: `${BINDINGS_FOLDER}/${VCAP_SERVICES_FILE}` };
}
