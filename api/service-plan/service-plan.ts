// Endpoints of ServicePlan: `/v3/service_plans`. visibility.ts has who may use a plan.
import { foldName } from "../../crds/object-names.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { isOneOf, listAmong } from "../lists/list-objects.ts";
import { toMetadataPatch } from "../http/metadata.ts";
import { offeringOf } from "../cf/service/catalog.ts";
import {
  brokerGUIDOf,
  findBroker,
  canSeePlan,
  getPlan,
  planOrder,
  toViewer,
  type Viewer,
} from "../cf/service/marketplace.ts";
import { instancesOfPlan } from "../cf/service/plan-uses.ts";
import { placeFilter } from "../cf/service/plan-places.ts";
import { endpoint, noContent, ok, type Endpoint } from "../routing/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import { includedPlanParts } from "../included/included-with-plans.ts";
import { presentPage } from "../lists/page.ts";
import { metadataOnlySchema } from "../http/shared-schemas.ts";
import type { Services } from "../routing/services.ts";
import { planListQuery, planQuery, type PlanIncludes, type PlanListQuery } from "./payload.ts";
import { presentPlan } from "./present.ts";
import { visibilityEndpoints } from "./visibility.ts";

const path = "/v3/service_plans/:guid";
type Caching = Pick<Services, "cache">;

function filterOf(viewer: Viewer, query: PlanListQuery): (plan: ServicePlan) => boolean {
  const { cache } = viewer;
  const names = query.names?.map(foldName);
  const isInPlace = placeFilter(viewer, query);
  const isOfOffering = offeringFilter(viewer, query);
  const ofInstances = query.service_instance_guids && new Set(plansOfInstances(viewer, query.service_instance_guids));
  return (plan) =>
    (query.available === undefined || query.available === plan.spec.available) &&
    isOneOf(names, foldName(plan.spec.name)) &&
    isOneOf(query.broker_catalog_ids, plan.spec.catalogID) &&
    isOfOffering(offeringOf(cache, plan)) &&
    (!ofInstances || ofInstances.has(`${plan.metadata.namespace}/${plan.metadata.name}`)) &&
    isInPlace(plan) &&
    canSeePlan(viewer, plan);
}

function offeringFilter({ cache }: Viewer, query: PlanListQuery): (offering: ServiceOffering | undefined) => boolean {
  const names = query.service_offering_names?.map(foldName);
  return (offering) =>
    isOneOf(query.service_offering_guids, offering ? cache.guid(ServiceOffering, offering) : "") &&
    isOneOf(names, foldName(offering?.spec.name ?? "")) &&
    isOneOf(query.service_broker_guids, brokerGUIDOf(cache, offering)) &&
    isOneOf(query.service_broker_names, findBroker(cache, offering)?.spec.name ?? "");
}

/** Keys of the plans of those instances that the viewer sees. */
function plansOfInstances({ session }: Viewer, guids: readonly string[]): string[] {
  return guids.flatMap((guid) => {
    const instance = session?.find(ServiceInstance, guid);
    const ref = instance?.spec.planRef;
    return ref ? [`${ref.namespace ?? instance.metadata.namespace}/${ref.name}`] : [];
  });
}

function includedOf(
  viewer: Viewer,
  base: string,
  query: PlanIncludes,
): ((page: readonly ServicePlan[]) => object) | undefined {
  const brokers = query["fields[service_offering.service_broker]"];
  if (!query.include && !brokers) return undefined;
  return (page) => includedPlanParts(viewer, base, page, { include: query.include ?? [], brokers });
}

const list = ({ cache }: Caching) =>
  endpoint({
    method: "GET",
    path: "/v3/service_plans",
    permission: "anyone",
    lists: [ServicePlan],
    query: planListQuery,
    summary: "List service plans",
    handler: ({ query, base, url, ...context }) => {
      const viewer = toViewer(cache, context);
      const objects = cache.store(ServicePlan).list();
      const found = listAmong({ cache, ref: ServicePlan, objects }, query, {
        filter: filterOf(viewer, query),
        sortKeys: { name: ({ spec }) => foldName(spec.name) },
        defaultSortKey: (one) => planOrder(cache, one),
      });
      const present = (one: ServicePlan): object => presentPlan(cache, one, base);
      return ok(presentPage(found, { base, url, query }, present, includedOf(viewer, base, query)));
    },
  });

const get = ({ cache }: Caching) =>
  endpoint({
    method: "GET",
    path,
    permission: "anyone",
    query: planQuery,
    summary: "Get a service plan",
    handler: ({ params, query, base, ...context }) => {
      const viewer = toViewer(cache, context);
      const plan = getPlan(viewer, params.guid);
      const included = includedOf(viewer, base, query)?.([plan]);
      return ok({ ...presentPlan(cache, plan, base), ...(included && { included }) });
    },
  });

const update = endpoint({
  method: "PATCH",
  path,
  permission: { verb: "patch", on: ServicePlan },
  body: metadataOnlySchema,
  summary: "Update the metadata of a service plan",
  handler: async ({ session, params, body, base }) => {
    const plan = getPlan({ cache: session.cache, session }, params.guid);
    const { namespace = "", name } = plan.metadata;
    session.authorize({ verb: "patch", on: ServicePlan, namespace, name });
    const patch = { type: "merge", body: { metadata: toMetadataPatch(body.metadata, plan) } } as const;
    return ok(presentPlan(session.cache, await session.patch(ServicePlan, plan, patch), base));
  },
});

const remove = endpoint({
  method: "DELETE",
  path,
  permission: { verb: "delete", on: ServicePlan },
  summary: "Delete a service plan that no service instance has",
  handler: async ({ session, params }) => {
    const plan = getPlan({ cache: session.cache, session }, params.guid);
    const { namespace = "", name } = plan.metadata;
    session.authorize({ verb: "delete", on: ServicePlan, namespace, name });
    if (instancesOfPlan(session.cache, plan).length > 0)
      throw unprocessable("Please delete the service_instances associations for your service_plans.");
    await session.delete(ServicePlan, plan);
    return noContent();
  },
});

export function servicePlanEndpoints(services: Caching): readonly Endpoint[] {
  return [list(services), get(services), update, remove, ...visibilityEndpoints];
}
