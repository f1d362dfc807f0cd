// Presents a ServiceInstance as CF's JSON.
import { displayNameOf } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { Space } from "../../crds/space/space.ts";
import type { Session } from "../access/session.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { link, presentIdentity, presentMetadata, toOneRelationship } from "../http/presentation.ts";
import type { InstanceFields } from "./payload.ts";

export function presentInstance(cache: ClusterCache, instance: ServiceInstance, base: string): object {
  const at = presentIdentity(cache, ServiceInstance, instance);
  const { updated_at } = at;
  const space = cache.spaceOf(instance.metadata.namespace);
  const spaceGUID = space && cache.guid(Space, space);
  const self = `${base}/v3/service_instances/${at.guid}`;
  return {
    ...at,
    name: displayNameOf(instance),
    tags: [...instance.spec.tags],
    type: instance.spec.type,
    syslog_drain_url: instance.spec.syslogDrainURL ?? null,
    route_service_url: instance.spec.routeServiceURL ?? null,
    last_operation: {
      // A change of labels is no operation on the instance.
      type: (instance.metadata.generation ?? 1) > 1 ? "update" : "create",
      state: "succeeded",
      description: "Operation succeeded",
      created_at: updated_at,
      updated_at,
    },
    relationships: { space: toOneRelationship(spaceGUID) },
    ...presentMetadata(instance),
    links: {
      self: link(self),
      space: link(`${base}/v3/spaces/${spaceGUID ?? ""}`),
      credentials: link(`${self}/credentials`),
      service_credential_bindings: link(`${base}/v3/service_credential_bindings?service_instance_guids=${at.guid}`),
      service_route_bindings: link(`${base}/v3/service_route_bindings?service_instance_guids=${at.guid}`),
    },
  };
}

/** Whether a request asks for members of other resources. */
export function hasFields(fields: InstanceFields): boolean {
  return Object.entries(fields).some(([name, value]) => name.startsWith("fields[") && value !== undefined);
}

/** The members that `fields` asks for, of spaces and orgs; user-provided instances have no plan, so those lists are empty. */
export function includedFields(
  session: Session,
  instances: readonly ServiceInstance[],
  fields: InstanceFields,
): object {
  const spaces = [...new Set(instances.map(({ metadata }) => metadata.namespace))].flatMap(
    (namespace) => session.cache.spaceOf(namespace) ?? [],
  );
  const orgs = [...new Set(spaces.flatMap(({ metadata }) => session.cache.orgOf(metadata.namespace) ?? []))];
  return {
    ...(fields["fields[space]"] && {
      spaces: spaces.map((space) => presentSpaceFields(session.cache, space, fields["fields[space]"] ?? [])),
    }),
    ...(fields["fields[space.organization]"] && {
      organizations: orgs.map((org) =>
        pick(
          { guid: session.cache.guid(Org, org), name: displayNameOf(org) },
          fields["fields[space.organization]"] ?? [],
        ),
      ),
    }),
    ...(fields["fields[service_plan]"] && { service_plans: [] }),
    ...(fields["fields[service_plan.service_offering]"] && { service_offerings: [] }),
    ...(fields["fields[service_plan.service_offering.service_broker]"] && { service_brokers: [] }),
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

function pick(values: Record<string, string>, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
}
