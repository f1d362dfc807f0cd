// Labels a ServicePlan with its GUID. controllers/service-broker makes it from its broker's catalog.
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { defineGUIDController } from "../shared/guid-controller.ts";

export const servicePlanController = defineGUIDController("service-plan", ServicePlan);
