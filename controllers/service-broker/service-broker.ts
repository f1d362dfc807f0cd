// Fetches a ServiceBroker's catalog and makes its offerings and plans. One leader does it, since each fetch is a request to somebody else's server.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, serviceBrokerName } from "../../crds/claim/rules.ts";
import { guidOf } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import { isBeyondLimit, TOO_MANY_BROKERS } from "../../crds/service-broker/broker-limit.ts";
import { catalogDigest } from "../../crds/service-broker/catalog-digest.ts";
import { placeOfCredentials } from "../../crds/service-broker/credentials.ts";
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isForbidden } from "../../kube/client/errors.ts";
import { ignoreGone } from "../../kube/client/ignore-gone.ts";
import {
  defineController,
  type FinalizeResult,
  NotReady,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import { NETWORK_SETTINGS_WATCH } from "../shared/network-settings.ts";
import { CLAIMED_NAME_INDEX, ensureClaim } from "../shared/claims.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { listLive } from "../shared/list-live.ts";
import type { BrokerPace } from "../shared/osb/broker-pace.ts";
import { TENANCY_KINDS } from "../shared/tenancy.ts";
import { createCatalogs, type Catalogs, type Found, type Outcome } from "./catalogs.ts";
import { planCatalog, planSlice, type KnownCatalog } from "./plan.ts";
import { brokerOf, BROKER_USE_INDEX, indexByUse, isPlanInUse, filterInstancesOf, listInstancesOf } from "./uses.ts";

export function serviceBrokerController(pace: BrokerPace): Controller {
  const catalogs = createCatalogs(pace);
  return defineController({
    name: "service-broker",
    kind: "singleton",
    for: ServiceBroker,
    owns: [ServiceOffering, ServicePlan],
    reads: TENANCY_KINDS,
    indexes: {
      [GUID_INDEX]: indexByGUID,
      [CLAIMED_NAME_INDEX]: (broker: ServiceBroker) => [claimObjectName(serviceBrokerName(broker))],
    },
    watches: [
      NETWORK_SETTINGS_WATCH,
      watch(Claim, (claim) => ({ [CLAIMED_NAME_INDEX]: claim.metadata.name })),
      // Only what waits for the end of an instance: a plan that left the catalog, or a broker that is being deleted.
      watch(ServiceInstance, listWaiting, { indexes: { [BROKER_USE_INDEX]: indexByUse } }),
    ],
    finalizer: "cupola.dev/broker",
    sources: [(enqueue) => catalogs.start(enqueue)],

    reconcile: (broker, context) => reconcileBroker(broker, context, catalogs),
    finalize: async (broker, context) => {
      const waiting = await finalizeBroker(broker, context);
      if (!waiting) catalogs.forget(broker);
      return waiting;
    },
  });
}

/** Until a space with too many brokers is looked at again. */
const FULL_MS = 30_000;

async function reconcileBroker(
  broker: ServiceBroker,
  context: ReconcileContext,
  catalogs: Catalogs,
): Promise<ReconcileResult> {
  const { guid, labels } = resolveGUID(ServiceBroker, broker, context);
  const { namespace = "" } = broker.metadata;
  if (isBeyondLimit(broker, context.read.list(ServiceBroker, { namespace })))
    throw new NotReady("TooManyBrokers", TOO_MANY_BROKERS, { isFailure: true, requeueAfterMs: FULL_MS });
  await ensureClaim(ServiceBroker.kind, broker, serviceBrokerName(broker), context);
  const known = listKnown(broker, context.read);
  const found = catalogs.find(broker, context, () => isWhole(broker, known));
  const { outcome, againInMs } = found;
  const again = againInMs === undefined ? {} : { requeueAfterMs: againInMs };
  // A kept catalog is as the status says already.
  if (!outcome || outcome.kind === "kept") return { labels, keepStatus: true, ...again };
  const result =
    outcome.kind === "failed" ? toFailure(outcome, found) : apply(broker, { guid, known, outcome }, context);
  return { labels, ...again, ...result };
}

/** Has the cluster all that was made of the catalog, and nothing that stays only while instances use it? */
function isWhole({ status }: ServiceBroker, { offerings, plans }: KnownCatalog): boolean {
  const entries = [...offerings, ...plans];
  return entries.every(({ spec }) => spec.available) && catalogDigest(entries) === status?.catalog;
}

function toFailure({ reason, message }: Outcome & { kind: "failed" }, { failures }: Found): ReconcileResult {
  return {
    status: { fetchFailures: failures?.count, fetchFailedAt: failures?.at.toISOString() },
    ready: { status: "False", reason, message, isFailure: true },
  };
}

/** Offerings and plans that one reconcile makes or changes, so that other brokers' come in between. */
const SLICE = 50;
/** Until the next ones, if no event comes before. */
const SLICE_MS = 1_000;

function apply(
  broker: ServiceBroker,
  { guid, known, outcome }: { guid: string; known: KnownCatalog; outcome: Outcome & { kind: "fetched" } },
  { read }: ReconcileContext,
): ReconcileResult {
  const { namespace = "", name } = broker.metadata;
  const owner = { namespace, name, guid, purged: broker.spec.purgedOfferings ?? [] };
  const wanted = planCatalog(owner, outcome.catalog, known, (plan) => isPlanInUse(plan, broker, read));
  const { children, isAll } = planSlice(wanted, known, SLICE);
  if (!isAll) return { children, keepStatus: true, requeueAfterMs: SLICE_MS };
  return {
    children,
    status: {
      offerings: outcome.catalog.services.length,
      catalog: catalogDigest(children),
      catalogFetchedAt: outcome.at.toISOString(),
      fetchFailures: undefined,
      fetchFailedAt: undefined,
    },
    ready: { status: "True", reason: "CatalogFetched", message: "" },
  };
}

/**
 * A broker that is being deleted takes no new instances. What asked for one of its plans just before may still be provided for so long; after it, what the broker was
 * never asked for holds nothing.
 */
const LAST_ORDERS_MS = 10_000;

async function finalizeBroker(broker: ServiceBroker, { read, client, now }: ReconcileContext): Promise<FinalizeResult> {
  const ordersMs = Date.parse(broker.metadata.deletionTimestamp ?? "") + LAST_ORDERS_MS - now().getTime();
  const withAsking = ordersMs > 0;
  // The cache may not have an instance that was made just before.
  const left =
    listInstancesOf(broker, read, withAsking).length || (await countLive(broker, { read, client }, withAsking));
  if (left === 0) {
    await removeCredentials(broker, client);
    return undefined;
  }
  const message = `${left} service instances are this broker's, and only it can delete them; delete or purge them first`;
  return {
    ready: { status: "False", reason: "InstancesExist", message, isFailure: true },
    ...(withAsking && { requeueAfterMs: ordersMs }),
  };
}

async function countLive(
  broker: ServiceBroker,
  { read, client }: Pick<ReconcileContext, "read" | "client">,
  withAsking: boolean,
): Promise<number> {
  const instances = await listLive(ServiceInstance, { read, client });
  if (instances.length === 0) return 0;
  const { namespace = "" } = broker.metadata;
  const plans = withAsking ? await listLive(ServicePlan, { read, client }, { namespace }) : [];
  return filterInstancesOf(broker, read, { instances, plans }).length;
}

/** Those that the API wrote; somebody else's stay. */
async function removeCredentials(broker: ServiceBroker, client: KubeClient): Promise<void> {
  const { namespace = "" } = broker.metadata;
  const { secret: key, keys, isShared } = placeOfCredentials(namespace, broker.spec.credentialsSecretRef);
  const secret = await client.find(Secret, key).catch((error: unknown) => {
    // A Secret that the platform may not read is not the API's.
    if (!isForbidden(error)) throw error;
  });
  if (!secret) return;
  if (isShared) {
    const names = keys.filter((name) => secret.data?.[name] !== undefined);
    const data = Object.fromEntries(names.map((name) => [name, null]));
    if (names.length > 0) await client.patch(Secret, key, { type: "merge", body: { data } });
    return;
  }
  const { labels, uid } = secret.metadata;
  if (labels?.[LABELS.serviceBroker] !== guidOf(broker)) return;
  await ignoreGone(client.delete(Secret, key, { ...(uid && { preconditions: { uid } }) }));
}

function listKnown({ metadata: { namespace = "", name } }: ServiceBroker, read: Reader): KnownCatalog {
  const offerings = read.list(ServiceOffering, { namespace }).filter(({ spec }) => spec.brokerRef.name === name);
  const names = new Set(offerings.map(({ metadata }) => metadata.name));
  const plans = read.list(ServicePlan, { namespace }).filter(({ spec }) => names.has(spec.offeringRef.name));
  return { offerings, plans };
}

function listWaiting(instance: ServiceInstance, read: Reader): { namespace: string; name: string }[] {
  const key = brokerOf(instance, read);
  const broker = key && read.find(ServiceBroker, key);
  if (!broker) return [];
  const isWaiting =
    broker.metadata.deletionTimestamp !== undefined ||
    listKnown(broker, read).plans.some(({ spec }) => !spec.available);
  return isWaiting ? [key] : [];
}
