// Labels a ServiceOffering with its GUID. controllers/service-broker makes it from its broker's catalog.
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { defineGUIDController } from "../shared/guid-controller.ts";

export const serviceOfferingController = defineGUIDController("service-offering", ServiceOffering);
