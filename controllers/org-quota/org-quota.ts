// Sets the GUID of an OrgQuota; the API reads the rest from its spec.
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { defineGUIDController } from "../shared/guid-controller.ts";

export const orgQuotaController = defineGUIDController("org-quota", OrgQuota);
