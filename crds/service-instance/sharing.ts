// Whether the catalog lets an instance be used in another space than its own. Pure.
import type { ServiceOffering } from "../service-offering/service-offering.ts";
import type { ServicePlan } from "../service-plan/service-plan.ts";
import { isUsableIn } from "../service-plan/visibility.ts";

export type SharingProblem = "notShareable" | "planNotVisible";

export const SHARING_PROBLEMS: Record<SharingProblem, string> = {
  notShareable: "its service offering does not allow instances to be shared with other spaces",
  planNotVisible: "its service plan is not enabled in this space",
};

/** As in CF: the offering says that its instances can be shared, and the space may order the plan. `org` is the object name of the space's. */
export function findSharingProblem(
  { plan, offering }: { plan: ServicePlan | undefined; offering: ServiceOffering | undefined },
  space: { namespace: string; org: string },
): SharingProblem | undefined {
  if (!offering?.spec.shareable) return "notShareable";
  return plan && isUsableIn(plan, space) ? undefined : "planNotVisible";
}
