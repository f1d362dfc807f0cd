// Settles the GUID of a OrgQuota; builders and the API read the rest from its spec.
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { defineGUIDController } from "../shared/guid-controller.ts";

export const orgQuotaController = defineGUIDController("org-quota", OrgQuota);
