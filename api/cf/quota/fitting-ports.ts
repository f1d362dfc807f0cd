// CF's rule for reserved ports: no more than routes, and no more than the org's quota has.
import type { OrgQuota } from "../../../crds/org-quota/org-quota.ts";
import { unprocessable } from "../../http/errors.ts";

type PortLimits = Partial<Pick<OrgQuota["spec"], "totalRoutes" | "totalReservedPorts">>;

const OF_ORG =
  "Total reserved ports must be -1, 0, or a positive integer, and must be less than or equal to total routes.";
const OF_SPACE =
  "Total reserved ports must be -1, 0, or a positive integer, must be less than or equal to total routes, and must be less than or equal to total reserved ports for the organization quota.";

/** Refuses the limits of a quota. `null` and undefined are no limit, which CF takes anywhere. @throws CFError 422 */
export function requireFittingPorts(
  limits: object,
  { isOfSpace, org }: { isOfSpace: boolean; org?: PortLimits },
): void {
  const { totalRoutes, totalReservedPorts: ports } = limits as { [Name in keyof PortLimits]: number | null };
  const isOver = (limit: number | null | undefined): boolean => typeof limit === "number" && (ports ?? 0) > limit;
  if (isOver(totalRoutes) || isOver(org?.totalReservedPorts)) throw unprocessable(isOfSpace ? OF_SPACE : OF_ORG);
}
