// Holds the name of a user-provided ServiceInstance in its space. Those of brokers: managed.ts.
import { serviceInstanceName } from "../../crds/claim/rules.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { defineNamedController } from "../shared/guid-controller.ts";

export const serviceInstanceController = defineNamedController(
  "service-instance",
  ServiceInstance,
  serviceInstanceName,
  ({ spec }) => spec.type !== "managed",
);
