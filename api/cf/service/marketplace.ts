// The marketplace: offerings and plans, what pages show of them, and who sees them.
// RBAC shows the plans of a namespace to its people; those of the whole platform's brokers are in the system namespace, where a plan's visibility decides.
import { isFlagEnabled } from "../../../crds/feature-flag/flags.ts";
import { creationSortKey } from "../../../crds/guid.ts";
import { Org } from "../../../crds/org/org.ts";
import { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { ServiceOffering } from "../../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { visibilityOf } from "../../../crds/service-plan/visibility.ts";
import type { Session } from "../../access/session.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { CFError } from "../../http/errors.ts";
import { pickFields } from "../../http/fields.ts";
import { findFlag } from "../feature-flags.ts";
import { brokerOf, offeringOf } from "./catalog.ts";

/** Somebody who looks at the marketplace; without a session nobody is logged in. */
export interface Viewer {
  cache: ClusterCache;
  session: Session | undefined;
}

/** @throws CFError 401 when nobody is logged in and the marketplace is hidden from such */
export function toViewer(cache: ClusterCache, { caller, session }: { caller: unknown; session: Session }): Viewer {
  if (caller !== undefined) return { cache, session };
  const hidden = "hide_marketplace_from_unauthenticated_users";
  if (isFlagEnabled(hidden, findFlag(cache, hidden))) throw new CFError("NotAuthenticated");
  return { cache, session: undefined };
}

/** The broker of an offering that may not be there. */
export function findBroker(cache: ClusterCache, offering: ServiceOffering | undefined): ServiceBroker | undefined {
  return offering && brokerOf(cache, offering);
}

/** GUID of an offering's broker; "" while that is not there. */
export function brokerGUIDOf(cache: ClusterCache, offering: ServiceOffering | undefined): string {
  const broker = findBroker(cache, offering);
  return broker ? cache.guid(ServiceBroker, broker) : "";
}

/** The brokers of offerings, with the members that were asked for. */
export function includedBrokers(
  cache: ClusterCache,
  offerings: readonly ServiceOffering[],
  names: readonly string[],
): object[] {
  const brokers = new Set(offerings.flatMap((one) => findBroker(cache, one) ?? []));
  return [...brokers].map((one) => pickFields({ guid: cache.guid(ServiceBroker, one), name: one.spec.name }, names));
}

/** A text of a catalog; undefined when a person wrote something else there. */
export function parseCatalogJSON(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined; // the catalog's is JSON, and comes back with its next fetch
  }
}

export function plansOf(cache: ClusterCache, { metadata: { namespace, name } }: ServiceOffering): ServicePlan[] {
  return cache.store(ServicePlan).byIndex("offering", `${namespace}/${name}`);
}

/** Offerings of a broker. */
export function offeringsOf(cache: ClusterCache, { metadata: { namespace, name } }: ServiceBroker): ServiceOffering[] {
  return cache.store(ServiceOffering).byIndex("broker", `${namespace}/${name}`);
}

/** Offerings and plans of a broker. */
export function listCatalog(cache: ClusterCache, broker: ServiceBroker): (ServiceOffering | ServicePlan)[] {
  return offeringsOf(cache, broker).flatMap((offering) => [offering, ...plansOf(cache, offering)]);
}

/** The order of the marketplace: of brokers by creation, and of one broker's catalog as the broker has it. What a catalog brought was made in one second. */
export function offeringOrder(cache: ClusterCache, offering: ServiceOffering | undefined): string {
  const broker = findBroker(cache, offering);
  return `${broker ? creationSortKey(broker) : ""} ${toSortable(offering?.spec.position)}`;
}

export function planOrder(cache: ClusterCache, plan: ServicePlan): string {
  return `${offeringOrder(cache, offeringOf(cache, plan))} ${toSortable(plan.spec.position)}`;
}

function toSortable(position = 0): string {
  return String(position).padStart(5, "0");
}

/** Those of a broker that is gone go, too. */
export function canSeePlan({ cache, session }: Viewer, plan: ServicePlan): boolean {
  if (!findBroker(cache, offeringOf(cache, plan))) return false;
  const { type, orgs = [] } = visibilityOf(plan);
  if (type === "public" || session?.canSee(ServicePlan, plan)) return true;
  if (type !== "organization" || !session) return false;
  return orgs.some((name) => {
    const org = cache.store(Org).find({ name });
    return org !== undefined && session.canSee(Org, org);
  });
}

/** An offering is seen with any of its plans. */
export function canSeeOffering(viewer: Viewer, offering: ServiceOffering): boolean {
  if (!findBroker(viewer.cache, offering)) return false;
  return (
    Boolean(viewer.session?.canSee(ServiceOffering, offering)) ||
    plansOf(viewer.cache, offering).some((plan) => canSeePlan(viewer, plan))
  );
}

export function getPlan(viewer: Viewer, guid: string): ServicePlan {
  const plan = viewer.cache.findByGUID(ServicePlan, guid);
  if (plan && canSeePlan(viewer, plan)) return plan;
  throw new CFError("ResourceNotFound", "Service plan");
}

export function getOffering(viewer: Viewer, guid: string): ServiceOffering {
  const offering = viewer.cache.findByGUID(ServiceOffering, guid);
  if (offering && canSeeOffering(viewer, offering)) return offering;
  throw new CFError("ResourceNotFound", "Service offering");
}
