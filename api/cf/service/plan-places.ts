// Filters by place: in which spaces and orgs a plan may be used.
import { Org } from "../../../crds/org/org.ts";
import type { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { isUsableIn, visibilityOf } from "../../../crds/service-plan/visibility.ts";
import { Space } from "../../../crds/space/space.ts";
import type { Viewer } from "./marketplace.ts";

interface PlaceQuery {
  space_guids?: readonly string[] | undefined;
  organization_guids?: readonly string[] | undefined;
}

/** Whether a plan may be used in any of the places that a query names, as far as the viewer sees them. */
export function placeFilter({ cache, session }: Viewer, query: PlaceQuery): (plan: ServicePlan) => boolean {
  const spaces = query.space_guids?.flatMap((guid) => toPlace(session?.find(Space, guid)));
  const orgs = query.organization_guids?.flatMap((guid) => session?.find(Org, guid) ?? []);
  const isInOrg = (plan: ServicePlan, org: Org): boolean => {
    const visibility = visibilityOf(plan);
    if (visibility.type !== "space") return isUsableIn(plan, { namespace: "", org: org.metadata.name });
    return cache.spaceOf(plan.metadata.namespace)?.metadata.namespace === org.status?.namespace;
  };
  function toPlace(space: Space | undefined): { namespace: string; org: string }[] {
    const namespace = space?.status?.namespace;
    const org = cache.orgOf(space?.metadata.namespace)?.metadata.name;
    return namespace !== undefined && org !== undefined ? [{ namespace, org }] : [];
  }
  return (plan) =>
    (!spaces || spaces.some((place) => isUsableIn(plan, place))) && (!orgs || orgs.some((org) => isInOrg(plan, org)));
}
