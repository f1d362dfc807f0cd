// Holds a ServiceInstance's name in its space.
import { serviceInstanceName } from "../../crds/claim/rules.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { defineNamedController } from "../shared/guid-controller.ts";

export const serviceInstanceController = defineNamedController(
  "service-instance",
  ServiceInstance,
  serviceInstanceName,
);
