// Presents a ServiceInstance as CF's JSON.
import { displayNameOf } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { Space } from "../../crds/space/space.ts";
import type { Session } from "../access/session.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { link, presentIdentity, presentMetadata, toOneRelationship } from "../http/presentation.ts";
import { planOf } from "../cf/service/catalog.ts";
import { presentOperation } from "../cf/service/present-operation.ts";
import { catalogFields, pick } from "./catalog-fields.ts";
import type { InstanceFields, SpaceFields } from "./payload.ts";

export function presentInstance(cache: ClusterCache, instance: ServiceInstance, base: string): object {
  const at = presentIdentity(cache, ServiceInstance, instance);
  const space = cache.spaceOf(instance.metadata.namespace);
  const spaceGUID = space && cache.guid(Space, space);
  const self = `${base}/v3/service_instances/${at.guid}`;
  const own = instance.spec.type === "managed" ? managedPart(cache, instance, base) : userProvidedPart(instance, at);
  return {
    ...at,
    name: displayNameOf(instance),
    tags: [...instance.spec.tags],
    type: instance.spec.type,
    ...own.members,
    relationships: { space: toOneRelationship(spaceGUID), ...own.relationships },
    ...presentMetadata(instance),
    links: {
      self: link(self),
      space: link(`${base}/v3/spaces/${spaceGUID ?? ""}`),
      ...Object.fromEntries(own.links.map((name) => [name, link(`${self}/${LINK_PATHS[name] ?? name}`)])),
      ...own.foreignLinks,
      service_credential_bindings: link(`${base}/v3/service_credential_bindings?service_instance_guids=${at.guid}`),
      service_route_bindings: link(`${base}/v3/service_route_bindings?service_instance_guids=${at.guid}`),
    },
  };
}

const LINK_PATHS: Readonly<Record<string, string>> = { shared_spaces: "relationships/shared_spaces" };

/** Members that depend on the type. `links` are below the instance's own path. */
interface OwnPart {
  members: object;
  relationships: object;
  links: readonly string[];
  foreignLinks: object;
}

function userProvidedPart({ metadata, spec }: ServiceInstance, { updated_at }: { updated_at: string }): OwnPart {
  return {
    members: {
      syslog_drain_url: spec.syslogDrainURL ?? null,
      route_service_url: spec.routeServiceURL ?? null,
      last_operation: {
        // A change of labels is no operation on the instance.
        type: (metadata.generation ?? 1) > 1 ? "update" : "create",
        state: "succeeded",
        description: "Operation succeeded",
        created_at: updated_at,
        updated_at,
      },
    },
    relationships: {},
    links: ["credentials"],
    foreignLinks: {},
  };
}

function managedPart(cache: ClusterCache, instance: ServiceInstance, base: string): OwnPart {
  const { provided, dashboardURL = null } = instance.status ?? {};
  const plan = planOf(cache, instance);
  const planGUID = plan && cache.guid(ServicePlan, plan);
  return {
    members: {
      ...presentVersion(provided?.maintenanceVersion, plan?.spec.maintenanceInfo),
      dashboard_url: dashboardURL,
      last_operation: presentOperation(instance),
    },
    relationships: { service_plan: toOneRelationship(planGUID) },
    links: ["parameters", "shared_spaces"],
    foreignLinks: planGUID === undefined ? {} : { service_plan: link(`${base}/v3/service_plans/${planGUID}`) },
  };
}

type MaintenanceInfo = ServicePlan["spec"]["maintenanceInfo"];

function presentVersion(version: string | undefined, newest: MaintenanceInfo): object {
  const isNewest = newest === undefined || newest.version === version;
  const description = isNewest ? newest?.description : undefined;
  return {
    maintenance_info: { ...(version !== undefined && { version }), ...(description !== undefined && { description }) },
    upgrade_available: !isNewest,
  };
}

/** Whether a request asks for members of other resources. */
export function hasFields(fields: InstanceFields | SpaceFields): boolean {
  return Object.entries(fields).some(([name, value]) => name.startsWith("fields[") && value !== undefined);
}

/** The members that `fields` asks for, of spaces, orgs, and of managed ones of the catalog. */
export function includedFields(
  session: Session,
  instances: readonly ServiceInstance[],
  fields: InstanceFields,
): object {
  const spaces = [...new Set(instances.map(({ metadata }) => metadata.namespace))].flatMap(
    (namespace) => session.cache.spaceOf(namespace) ?? [],
  );
  return {
    ...includedSpaceFields(session, spaces, fields),
    ...catalogFields(session.cache, instances, fields),
  };
}

/** The members that `fields` asks for, of spaces and their orgs. */
export function includedSpaceFields({ cache }: Session, spaces: readonly Space[], fields: SpaceFields): object {
  const orgs = [...new Set(spaces.flatMap(({ metadata }) => cache.orgOf(metadata.namespace) ?? []))];
  const { "fields[space]": ofSpace, "fields[space.organization]": ofOrg } = fields;
  return {
    ...(ofSpace && { spaces: spaces.map((space) => presentSpaceFields(cache, space, ofSpace)) }),
    ...(ofOrg && {
      organizations: orgs.map((org) => pick({ guid: cache.guid(Org, org), name: displayNameOf(org) }, ofOrg)),
    }),
  };
}

function presentSpaceFields(cache: ClusterCache, space: Space, names: readonly string[]): object {
  const org = cache.orgOf(space.metadata.namespace);
  return {
    ...pick({ guid: cache.guid(Space, space), name: displayNameOf(space) }, names),
    ...(names.includes("relationships.organization") && {
      relationships: { organization: toOneRelationship(org && cache.guid(Org, org)) },
    }),
  };
}
