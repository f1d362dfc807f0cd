// Endpoints of ServiceOffering: `/v3/service_offerings`. Its broker's catalog decides what it is.
import pLimit from "p-limit";
import { foldName } from "../../crds/object-names.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import type { Session } from "../access/session.ts";
import { isOneOf, listAmong } from "../lists/list-objects.ts";
import { toMetadataPatch } from "../http/metadata.ts";
import { bindingsOfInstance } from "../cf/service/bindings.ts";
import {
  brokerGUIDOf,
  findBroker,
  offeringOrder,
  canSeeOffering,
  getOffering,
  includedBrokers,
  plansOf,
  toViewer,
  type Viewer,
} from "../cf/service/marketplace.ts";
import { instancesOfPlan } from "../cf/service/plan-uses.ts";
import { placeFilter } from "../cf/service/plan-places.ts";
import { endpoint, noContent, ok, type Endpoint } from "../routing/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import { presentPage } from "../lists/page.ts";
import { metadataOnlySchema } from "../http/shared-schemas.ts";
import type { Services } from "../routing/services.ts";
import { offeringListQuery, offeringQuery, purgeQuery, type OfferingFields } from "./payload.ts";
import { presentOffering } from "./present.ts";
import type { z } from "zod";

const path = "/v3/service_offerings/:guid";
type Caching = Pick<Services, "cache">;

function filterOf(viewer: Viewer, query: z.output<typeof offeringListQuery>): (one: ServiceOffering) => boolean {
  const { cache } = viewer;
  const names = query.names?.map(foldName);
  const isInPlace = placeFilter(viewer, query);
  const hasPlaces = query.space_guids !== undefined || query.organization_guids !== undefined;
  const isOfBroker = (one: ServiceOffering): boolean =>
    isOneOf(query.service_broker_guids, brokerGUIDOf(cache, one)) &&
    isOneOf(query.service_broker_names, findBroker(cache, one)?.spec.name ?? "");
  return (one) =>
    (query.available === undefined || query.available === one.spec.available) &&
    isOneOf(names, foldName(one.spec.name)) &&
    isOneOf(query.broker_catalog_ids, one.spec.catalogID) &&
    isOfBroker(one) &&
    (!hasPlaces || plansOf(cache, one).some(isInPlace)) &&
    canSeeOffering(viewer, one);
}

function includedOf(
  { cache }: Viewer,
  fields: OfferingFields,
): ((page: readonly ServiceOffering[]) => object) | undefined {
  const names = fields["fields[service_broker]"];
  return names && ((page) => ({ service_brokers: includedBrokers(cache, page, names) }));
}

const list = ({ cache }: Caching) =>
  endpoint({
    method: "GET",
    path: "/v3/service_offerings",
    permission: "anyone",
    lists: [ServiceOffering, ServicePlan],
    query: offeringListQuery,
    summary: "List service offerings",
    handler: ({ query, base, url, ...context }) => {
      const viewer = toViewer(cache, context);
      const objects = cache.store(ServiceOffering).list();
      const found = listAmong({ cache, ref: ServiceOffering, objects }, query, {
        filter: filterOf(viewer, query),
        sortKeys: { name: ({ spec }) => foldName(spec.name) },
        defaultSortKey: (one) => offeringOrder(cache, one),
      });
      const present = (one: ServiceOffering): object => presentOffering(cache, one, base);
      return ok(presentPage(found, { base, url, query }, present, includedOf(viewer, query)));
    },
  });

const get = ({ cache }: Caching) =>
  endpoint({
    method: "GET",
    path,
    permission: "anyone",
    query: offeringQuery,
    summary: "Get a service offering",
    handler: ({ params, query, base, ...context }) => {
      const viewer = toViewer(cache, context);
      const offering = getOffering(viewer, params.guid);
      const included = includedOf(viewer, query)?.([offering]);
      return ok({ ...presentOffering(cache, offering, base), ...(included && { included }) });
    },
  });

const update = endpoint({
  method: "PATCH",
  path,
  permission: { verb: "patch", on: ServiceOffering },
  body: metadataOnlySchema,
  summary: "Update the metadata of a service offering",
  handler: async ({ session, params, body, base }) => {
    const offering = getOffering({ cache: session.cache, session }, params.guid);
    const { namespace = "", name } = offering.metadata;
    session.authorize({ verb: "patch", on: ServiceOffering, namespace, name });
    const patch = { type: "merge", body: { metadata: toMetadataPatch(body.metadata, offering) } } as const;
    return ok(presentOffering(session.cache, await session.patch(ServiceOffering, offering, patch), base));
  },
});

const remove = endpoint({
  method: "DELETE",
  path,
  permission: { verb: "delete", on: ServiceOffering },
  asks: [
    { verb: "patch", on: ServiceBroker },
    { verb: "delete", on: ServicePlan },
    { verb: "patch", on: ServiceInstance },
    { verb: "delete", on: ServiceInstance },
    { verb: "delete", on: ServiceBinding },
  ],
  query: purgeQuery,
  summary:
    "Delete a service offering that has no plans; with purge, forget it with all instances, without a word to the broker",
  handler: async ({ session, params, query }) => {
    const offering = getOffering({ cache: session.cache, session }, params.guid);
    const { namespace = "", name } = offering.metadata;
    session.authorize({ verb: "delete", on: ServiceOffering, namespace, name });
    if (query.purge) await purge(session, offering);
    else if (plansOf(session.cache, offering).length > 0)
      throw unprocessable("Please delete the service_plans associations for your services.");
    await session.delete(ServiceOffering, offering);
    return noContent();
  },
});

/** The broker's catalog has it still, so the broker must know that it is not wanted. */
async function purge(session: Session, offering: ServiceOffering): Promise<void> {
  const broker = findBroker(session.cache, offering);
  const { catalogID } = offering.spec;
  if (broker)
    await session.patchWithRetry(ServiceBroker, broker, ({ spec: { purgedOfferings = [] } }) =>
      purgedOfferings.includes(catalogID) ? undefined : { spec: { purgedOfferings: [...purgedOfferings, catalogID] } },
    );
  const limit = pLimit(PURGED_AT_ONCE);
  for (const plan of plansOf(session.cache, offering)) {
    const instances = instancesOfPlan(session.cache, plan);
    await Promise.all(instances.map((instance) => limit(() => purgeInstance(session, instance))));
    await session.delete(ServicePlan, plan);
  }
}

const PURGED_AT_ONCE = 8;

async function purgeInstance(session: Session, instance: ServiceInstance): Promise<void> {
  await session.patch(ServiceInstance, instance, { type: "merge", body: { spec: { purge: true } } });
  for (const binding of bindingsOfInstance(session.cache, instance)) await session.delete(ServiceBinding, binding);
  await session.delete(ServiceInstance, instance);
}

export function serviceOfferingEndpoints(services: Caching): readonly Endpoint[] {
  return [list(services), get(services), update, remove];
}
