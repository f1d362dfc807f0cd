// The ServiceBinding kind: gives the credentials of a ServiceInstance to an app, from the app's next start on.
import { z } from "zod";
import { cfName } from "../cf-name.ts";
import { defineResource, immutable, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";

export const ServiceBinding = defineResource({
  group: GROUP,
  kind: "ServiceBinding",
  plural: "servicebindings",
  namespaced: true,
  shortNames: ["cfbinding"],
  categories: [CATEGORY],
  description:
    "Gives the credentials of a ServiceInstance to an app, in VCAP_SERVICES, from the app's next start or restart on.",
  columns: [
    { name: "App", jsonPath: ".spec.appRef.name" },
    { name: "Instance", jsonPath: ".spec.instanceRef.name" },
    { name: "CF-Name", jsonPath: ".spec.name" },
  ],
  spec: immutable(
    z.object({
      name: cfName.optional().describe("The name under which the app finds it. Defaults to the instance's."),
      appRef: refTo("App"),
      instanceRef: refTo("ServiceInstance"),
    }),
    "name",
    "appRef",
    "instanceRef",
  ),
  status: readyStatus({}),
});
export type ServiceBinding = Resource<typeof ServiceBinding>;
