// Sets the GUID of a SpaceQuota and holds its name; the API and controllers/quota read its limits.
import { spaceQuotaName } from "../../crds/claim/rules.ts";
import { SpaceQuota } from "../../crds/space-quota/space-quota.ts";
import { defineNamedController } from "../shared/guid-controller.ts";

export const spaceQuotaController = defineNamedController("space-quota", SpaceQuota, spaceQuotaName);
