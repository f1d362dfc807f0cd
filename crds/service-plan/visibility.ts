// Where a service plan may be used. Pure.
import { SYSTEM_NAMESPACE } from "../groups.ts";
import type { ServicePlan } from "./service-plan.ts";

type Visibility = NonNullable<ServicePlan["spec"]["visibility"]>;

/** A plan of a space's own broker is that space's, whatever else is written. */
export function visibilityOf({ metadata, spec }: Pick<ServicePlan, "metadata" | "spec">): Visibility {
  if (metadata.namespace !== SYSTEM_NAMESPACE) return { type: "space" };
  return spec.visibility && spec.visibility.type !== "space" ? spec.visibility : { type: "admin" };
}

/** May instances in this space have the plan? `namespace` is the space's, `org` the object name of its org. */
export function isUsableIn(
  plan: Pick<ServicePlan, "metadata" | "spec">,
  { namespace, org }: { namespace: string; org: string },
): boolean {
  const { type, orgs = [] } = visibilityOf(plan);
  if (type === "space") return plan.metadata.namespace === namespace;
  return type === "public" || (type === "organization" && orgs.includes(org));
}
