// CF's rule for reserved ports: no more than routes, and no more than the org's quota has.
import { unprocessable } from "../../http/errors.ts";

interface PortLimits {
  totalRoutes?: number | null | undefined;
  totalReservedPorts?: number | null | undefined;
}

const OF_ORG =
  "Total reserved ports must be -1, 0, or a positive integer, and must be less than or equal to total routes.";
const OF_SPACE =
  "Total reserved ports must be -1, 0, or a positive integer, must be less than or equal to total routes, and must be less than or equal to total reserved ports for the organization quota.";

/** Refuses the limits of a quota. `null` and undefined are no limit, which CF takes anywhere. `org`: limits of a space quota's org. @throws CFError 422 */
export function requireFittingPorts({ totalRoutes, totalReservedPorts: ports }: PortLimits, org?: PortLimits): void {
  const isOver = (limit: number | null | undefined): boolean => typeof limit === "number" && (ports ?? 0) > limit;
  if (isOver(totalRoutes) || isOver(org?.totalReservedPorts)) throw unprocessable(org ? OF_SPACE : OF_ORG);
}
