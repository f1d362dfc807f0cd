// Sets the GUID of an OrgQuota and holds its name; the API and controllers/quota read its limits.
import { orgQuotaName } from "../../crds/claim/rules.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { defineNamedController } from "../shared/guid-controller.ts";

export const orgQuotaController = defineNamedController("org-quota", OrgQuota, orgQuotaName);
