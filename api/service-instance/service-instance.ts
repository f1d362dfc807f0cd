// Endpoints of ServiceInstance: `/v3/service_instances`, for user-provided instances.
import type { z } from "zod";
import { displayNameOf } from "../../crds/object-names.ts";
import { credentialsSecretName } from "../../crds/service-instance/credentials.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { Space } from "../../crds/space/space.ts";
import { Org } from "../../crds/org/org.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import type { Session } from "../access/session.ts";
import { isOneOf, listObjects } from "../cache/list-objects.ts";
import { requireFlag } from "../cf/feature-flags.ts";
import { toNamedMetadata } from "../cf/free-object-name.ts";
import { toMetadataPatch, toNewMetadata } from "../cf/metadata/metadata.ts";
import { resolveSpace, spaceNamespaces } from "../cf/org/org-and-space-namespaces.ts";
import { bindingsOfInstance } from "../cf/service/bindings.ts";
import { findCredentials, findOwnSecret, putCredentials, requireBounded } from "../cf/service/instance-credentials.ts";
import { created, endpoint, noContent, ok, type Endpoint } from "../http/endpoint.ts";
import { CFError, notFound, unprocessable } from "../http/errors.ts";
import { presentPage } from "../http/page.ts";
import { createInstanceBody, instanceListQuery, instanceQuery, purgeQuery, updateInstanceBody } from "./payload.ts";
import type { UpdateInstance } from "./payload.ts";
import { hasFields, includedFields, presentInstance } from "./present.ts";

const path = "/v3/service_instances/:guid";
const read = { verb: "get", on: ServiceInstance } as const;

const taken = (name: string) => () => unprocessable(`The service instance name is taken: ${name}.`);

const list = endpoint({
  method: "GET",
  path: "/v3/service_instances",
  permission: "authenticated",
  lists: [ServiceInstance],
  query: instanceListQuery,
  summary: "List service instances",
  handler: ({ session, query, base, url }) => {
    const namespaces = spaceNamespaces(session, query);
    const isOfPlan = query.service_plan_guids === undefined && query.service_plan_names === undefined;
    const found = listObjects(session, ServiceInstance, query, {
      url,
      ...(namespaces && { scope: { namespaces } }),
      filter: (one) =>
        isOfPlan &&
        isOneOf(query.names, displayNameOf(one)) &&
        (query.type === undefined || query.type === one.spec.type),
      sortKeys: { name: displayNameOf },
      dependsOn: [Space, Org],
      filterReads: [],
    });
    return ok(
      presentPage(
        found,
        { base, url, query },
        (one) => presentInstance(session.cache, one, base),
        hasFields(query) ? (page) => includedFields(session, page, query) : undefined,
      ),
    );
  },
});

const get = endpoint({
  method: "GET",
  path,
  permission: read,
  query: instanceQuery,
  summary: "Get a service instance",
  handler: ({ session, params, query, base }) => {
    const instance = session.get(ServiceInstance, params.guid);
    const included = hasFields(query) && { included: includedFields(session, [instance], query) };
    return ok({ ...presentInstance(session.cache, instance, base), ...included });
  },
});

const create = endpoint({
  method: "POST",
  path: "/v3/service_instances",
  permission: { verb: "create", on: ServiceInstance },
  body: createInstanceBody,
  summary: "Create a service instance",
  handler: async ({ session, body, base }) => {
    requireUserProvided(body);
    const { namespace } = resolveSpace(session, body.relationships.space.data.guid);
    session.authorize({ verb: "create", on: ServiceInstance, namespace });
    requireFlag(session, "service_instance_creation");
    requireBounded(body.credentials);
    return created(presentInstance(session.cache, await createInstance(session, namespace, body), base));
  },
});

/** @throws CFError 422 for what needs a service broker */
function requireUserProvided(body: z.output<typeof createInstanceBody>): void {
  if (body.type === "managed")
    throw unprocessable(
      "Service brokers are not available here yet. Make what the app needs elsewhere, give its credentials with cf create-user-provided-service NAME -p, then bind it.",
    );
  if (body.relationships.service_plan) throw unprocessable("Relationships Unknown field(s): 'service_plan'");
  if (body.parameters) throw unprocessable("Unknown field(s): 'parameters'");
}

async function createInstance(
  session: Session,
  namespace: string,
  body: z.output<typeof createInstanceBody>,
): Promise<ServiceInstance> {
  const { name, credentials } = body;
  const metadata = toNamedMetadata(session.cache, ServiceInstance, {
    namespace,
    name,
    fallback: "service",
    ...toNewMetadata(body.metadata),
  });
  const spec = {
    name,
    type: "user-provided",
    tags: body.tags ?? [],
    ...toURLs(body, undefined),
    ...(credentials && { credentialsSecretRef: { name: credentialsSecretName(metadata.name) } }),
  };
  const instance = await session.create(ServiceInstance, { metadata, spec }, taken(name));
  try {
    if (credentials) await putCredentials(session, instance, credentials);
  } catch (cause) {
    await session.delete(ServiceInstance, instance).catch((error: unknown) => {
      throw new AggregateError([cause, error], "the credentials were not kept, and their instance was not removed");
    });
    throw cause;
  }
  return instance;
}

/** The URLs of a spec: an empty one is none. `absent` stands for one that is taken away. */
function toURLs(body: UpdateInstance, absent: null | undefined): Record<string, string | null> {
  const urls = { syslogDrainURL: body.syslog_drain_url, routeServiceURL: body.route_service_url };
  return Object.fromEntries(
    Object.entries(urls)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]): [string, string | null | undefined] => [key, value || absent])
      .filter((entry): entry is [string, string | null] => entry[1] !== undefined),
  );
}

const update = endpoint({
  method: "PATCH",
  path,
  permission: { verb: "update", on: ServiceInstance },
  body: updateInstanceBody,
  summary: "Update a service instance",
  handler: async ({ session, params, body, base }) => {
    const instance = session.get(ServiceInstance, params.guid);
    requireBounded(body.credentials);
    // What is refused changes nothing.
    if (body.credentials) await findOwnSecret(session, instance);
    const spec = {
      ...(body.name !== undefined && { name: body.name }),
      ...(body.tags && { tags: body.tags }),
      ...toURLs(body, null),
      ...(body.credentials && { credentialsSecretRef: { name: credentialsSecretName(instance.metadata.name) } }),
    };
    const patch = { type: "merge" as const, body: { metadata: toMetadataPatch(body.metadata, instance), spec } };
    const { name } = body;
    const renamed =
      name === undefined || name === displayNameOf(instance)
        ? undefined
        : { to: { ...instance, spec: { ...instance.spec, name } }, taken: taken(name) };
    const after = await session.patch(ServiceInstance, instance, patch, renamed);
    if (body.credentials) await putCredentials(session, after, body.credentials);
    return ok(presentInstance(session.cache, after, base));
  },
});

const remove = endpoint({
  method: "DELETE",
  path,
  permission: { verb: "delete", on: ServiceInstance },
  query: purgeQuery,
  summary: "Delete a service instance and its bindings",
  handler: async ({ session, params }) => {
    const instance = session.get(ServiceInstance, params.guid);
    for (const binding of bindingsOfInstance(session.cache, instance)) await session.delete(ServiceBinding, binding);
    await session.delete(ServiceInstance, instance);
    return noContent();
  },
});

const credentials = endpoint({
  method: "GET",
  path: `${path}/credentials`,
  permission: { verb: "get", on: ServiceInstance, subresource: "credentials" },
  summary: "Get the credentials of a user-provided service instance",
  handler: async ({ session, params }) => ok(await findCredentials(session, session.get(ServiceInstance, params.guid))),
});

const parameters = endpoint({
  method: "GET",
  path: `${path}/parameters`,
  permission: read,
  summary: "Get the parameters of a service instance: refused, a user-provided one has none",
  handler: ({ session, params }) => {
    session.get(ServiceInstance, params.guid);
    throw new CFError("ServiceFetchInstanceParametersNotSupported");
  },
});

const permissions = endpoint({
  method: "GET",
  path: `${path}/permissions`,
  permission: "authenticated",
  summary: "Get the caller's permissions for a service instance",
  handler: ({ session, params }) => {
    const instance = session.cache.findByGUID(ServiceInstance, params.guid);
    if (!instance) throw notFound("Service instance");
    const at = { on: ServiceInstance, namespace: instance.metadata.namespace ?? "", name: instance.metadata.name };
    return ok({
      manage: session.allows({ verb: "update", ...at }),
      read: session.allows({ verb: "get", ...at }),
    });
  },
});

export const serviceInstanceEndpoints: readonly Endpoint[] = [
  list,
  create,
  get,
  update,
  remove,
  credentials,
  parameters,
  permissions,
];
