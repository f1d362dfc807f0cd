// How far a service broker's catalog is: what its controller says of the latest spec, and whether this replica has seen the offerings and plans.
import { catalogDigest } from "../../crds/service-broker/catalog-digest.ts";
import type { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { listCatalog, offeringsOf, plansOf } from "../cf/service/marketplace.ts";

export type CatalogState = { state: "PROCESSING" | "COMPLETE" } | { state: "FAILED"; error: string };

/** State of a job that creates or changes the broker. A broker that is gone was deleted since, so its job is over. */
export function catalogStateOf(cache: ClusterCache, broker: ServiceBroker | undefined): CatalogState {
  if (!broker) return { state: "COMPLETE" };
  const ready = readyOf(broker);
  if (!ready) return { state: "PROCESSING" };
  if (ready.status !== "True") return { state: "FAILED", error: ready.message };
  // Offerings and plans come by watches of their own.
  const hasSeenAll = catalogDigest(listCatalog(cache, broker)) === broker.status?.catalog;
  return { state: hasSeenAll ? "COMPLETE" : "PROCESSING" };
}

/** Characters of a warning. */
const MAX_WARNING = 8192;

/** In CF's words where it makes no OAuth2 clients, as here. */
const NO_DASHBOARD_CLIENT =
  "Warning: This broker includes configuration for a dashboard client. Auto-creation of OAuth2 clients has been disabled in this Cloud Foundry instance. The broker catalog has been updated but its dashboard client configuration will be ignored.";

/** As CF says it: plans that have left the catalog and stay while instances have them, and clients of dashboards, which nobody makes. */
export function catalogWarnings(cache: ClusterCache, broker: ServiceBroker | undefined): string[] {
  if (!broker) return [];
  const offerings = offeringsOf(cache, broker);
  const wantsClient = offerings.some(({ spec }) => spec.available && spec.dashboardClient === true);
  return [...listMissingPlans(cache, broker, offerings), ...(wantsClient ? [NO_DASHBOARD_CLIENT] : [])];
}

function listMissingPlans(
  cache: ClusterCache,
  broker: ServiceBroker,
  offerings: ReturnType<typeof offeringsOf>,
): string[] {
  const left = offerings.flatMap((offering) => {
    const plans = plansOf(cache, offering).filter(({ spec }) => !spec.available);
    const names = plans.map(({ spec }) => spec.name).sort();
    return names.length > 0
      ? [`\nService Offering: ${offering.spec.name}\nPlans deactivated: ${names.join(", ")}\n`]
      : [];
  });
  if (left.length === 0) return [];
  const catalog = `${broker.spec.url.replace(/\/+$/, "")}/v2/catalog`;
  return [`${toMissingPlans(catalog)}\n${left.sort().join("")}`.slice(0, MAX_WARNING)];
}

function toMissingPlans(catalog: string): string {
  return [
    `Warning: Service plans are missing from the broker's catalog (${catalog}) but can not be removed from Cloud Foundry while instances exist.`,
    "The plans have been deactivated to prevent users from attempting to provision new instances of these plans.",
    "The broker should continue to support bind, unbind, and delete for existing instances; if these operations fail contact your broker provider.",
  ].join(" ");
}

/** The Ready condition, if it is about the latest spec. */
function readyOf({ metadata: { generation }, status }: ServiceBroker) {
  return status?.conditions?.find((one) => one.type === "Ready" && one.observedGeneration === generation);
}
