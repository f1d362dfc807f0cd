// Parts that `include` and `fields` add to service plans: their offerings and brokers, and the spaces and orgs of spaces' own brokers.
import { Org } from "../../crds/org/org.ts";
import type { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { Space } from "../../crds/space/space.ts";
import { offeringOf } from "../cf/service/catalog.ts";
import { includedBrokers, type Viewer } from "../cf/service/marketplace.ts";
import { presentOrg } from "../org/present.ts";
import { presentOffering } from "../service-offering/present.ts";
import { planSpace } from "../service-plan/present.ts";
import { presentSpace } from "../space/present.ts";

interface Wanted {
  include: readonly ("space.organization" | "service_offering")[];
  /** Members of brokers. */
  brokers: readonly string[] | undefined;
}

export function includedPlanParts(
  { cache, session }: Viewer,
  base: string,
  plans: readonly ServicePlan[],
  { include, brokers }: Wanted,
): object {
  const offerings = [...new Set(plans.flatMap((plan) => offeringOf(cache, plan) ?? []))];
  const spaces = [...new Set(plans.flatMap((plan) => planSpace(cache, plan) ?? []))].filter((space) =>
    session?.canSee(Space, space),
  );
  const orgs = [...new Set(spaces.flatMap(({ metadata }) => cache.orgOf(metadata.namespace) ?? []))];
  return {
    ...(include.includes("service_offering") && {
      service_offerings: offerings.map((one) => presentOffering(cache, one, base)),
    }),
    ...(include.includes("space.organization") && {
      spaces: spaces.map((space) => presentSpace(cache, space, base)),
      organizations: orgs.filter((org) => session?.canSee(Org, org)).map((org) => presentOrg(cache, org, base)),
    }),
    ...(brokers && { service_brokers: includedBrokers(cache, offerings, brokers) }),
  };
}
