// How far a service broker's catalog is: what its controller says of the latest spec, and whether this replica has seen the offerings and plans.
import { catalogDigest } from "../../crds/service-broker/catalog-digest.ts";
import type { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { listCatalog } from "../cf/service/marketplace.ts";

export type CatalogState = { state: "PROCESSING" | "COMPLETE" } | { state: "FAILED"; error: string };

/** Of a job that creates or changes the broker. One that is gone has been deleted since, and its job is over. */
export function catalogStateOf(cache: ClusterCache, broker: ServiceBroker | undefined): CatalogState {
  if (!broker) return { state: "COMPLETE" };
  const ready = readyOf(broker);
  if (!ready) return { state: "PROCESSING" };
  if (ready.status !== "True") return { state: "FAILED", error: ready.message };
  // Offerings and plans come by watches of their own.
  const hasSeenAll = catalogDigest(listCatalog(cache, broker)) === broker.status?.catalog;
  return { state: hasSeenAll ? "COMPLETE" : "PROCESSING" };
}

/** The Ready condition, if it is about the latest spec. */
function readyOf({ metadata: { generation }, status }: ServiceBroker) {
  return status?.conditions?.find((one) => one.type === "Ready" && one.observedGeneration === generation);
}
