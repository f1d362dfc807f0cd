// Endpoints of ServiceBroker: `/v3/service_brokers`. A controller fetches the catalog; jobs tell how far it is.
import type { z } from "zod";
import { guidOf, newGUID } from "../../crds/guid.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LABELS } from "../../crds/labels.ts";
import { isFull, TOO_MANY_BROKERS } from "../../crds/service-broker/broker-limit.ts";
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { Space } from "../../crds/space/space.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Session } from "../access/session.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import { isOneOf, listObjects } from "../lists/list-objects.ts";
import { requireFlag } from "../cf/feature-flags.ts";
import { toNamedMetadata } from "../cf/free-object-name.ts";
import { toMetadataPatch, metadataForCreate } from "../http/metadata.ts";
import { resolveSpace } from "../cf/org/org-and-space-namespaces.ts";
import { removeCredentials, withNewCredentials } from "../cf/service/broker-credentials.ts";
import { hasInstances } from "../cf/service/plan-uses.ts";
import { accepted, endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { CFError, unprocessable } from "../http/errors.ts";
import { presentPage } from "../lists/page.ts";
import { newDeletionJob, newJob } from "../jobs/jobs.ts";
import { brokerListQuery, createBrokerBody, updateBrokerBody, type CreateBroker } from "./payload.ts";
import { brokerSpaceGUID, presentBroker } from "./present.ts";

const path = "/v3/service_brokers/:guid";
const taken = () => unprocessable("Name must be unique");

const list = endpoint({
  method: "GET",
  path: "/v3/service_brokers",
  permission: "authenticated",
  lists: [ServiceBroker],
  query: brokerListQuery,
  summary: "List service brokers",
  handler: ({ session, query, base, url }) => {
    const found = listObjects(session, ServiceBroker, query, {
      url,
      filter: ({ metadata, spec }) =>
        isOneOf(query.names, spec.name) &&
        isOneOf(query.space_guids, brokerSpaceGUID(session.cache, metadata.namespace) ?? ""),
      sortKeys: { name: ({ spec }) => spec.name },
      dependsOn: [Space],
    });
    return ok(presentPage(found, { base, url, query }, (one) => presentBroker(session.cache, one, base)));
  },
});

const get = endpoint({
  method: "GET",
  path,
  permission: { verb: "get", on: ServiceBroker },
  summary: "Get a service broker",
  handler: ({ session, params, base }) =>
    ok(presentBroker(session.cache, session.get(ServiceBroker, params.guid), base)),
});

const create = endpoint({
  method: "POST",
  path: "/v3/service_brokers",
  permission: { verb: "create", on: ServiceBroker },
  body: createBrokerBody,
  summary: "Register a service broker, whose catalog a job fetches",
  handler: async ({ session, body }) => {
    const space = body.relationships?.space?.data.guid;
    const namespace = space === undefined ? SYSTEM_NAMESPACE : resolveSpace(session, space).namespace;
    session.authorize({ verb: "create", on: ServiceBroker, namespace });
    if (space !== undefined) {
      requireFlag(session, "space_scoped_private_broker_creation");
      requireNotSuspended(session, namespace);
    }
    if (isFull(namespace, session.cache.store(ServiceBroker).list({ namespace })))
      throw unprocessable(TOO_MANY_BROKERS);
    const broker = await createBroker(session, namespace, body);
    const guid = session.cache.guid(ServiceBroker, broker);
    return accepted(await newJob(session, "service_broker.catalog.synchronize", guid));
  },
});

async function createBroker(session: Session, namespace: string, body: CreateBroker): Promise<ServiceBroker> {
  const { name, url, authentication, ca_bundle: caBundle } = body;
  const guid = newGUID();
  const named = toNamedMetadata(session.cache, ServiceBroker, {
    namespace,
    name,
    fallback: "broker",
    ...metadataForCreate(body.metadata),
  });
  const metadata = { ...named, labels: { ...named.labels, [LABELS.guid]: guid } };
  return withNewCredentials(session, { namespace, guid }, authentication.credentials, (credentialsSecretRef) =>
    session.create(
      ServiceBroker,
      { metadata, spec: omitUndefined({ name, url, credentialsSecretRef, caBundle }) },
      () => takenAtCreation(session, name),
    ),
  );
}

/** As in CF, a broker stays when its catalog cannot be fetched: a client that repeats the creation is told how to go on. */
function takenAtCreation(session: Session, name: string): CFError {
  const isUnfinished = ({ spec, status }: ServiceBroker): boolean =>
    spec.name === name && status?.catalogFetchedAt === undefined;
  const [unfinished] = session.list(ServiceBroker, undefined, isUnfinished);
  return unfinished
    ? unprocessable(
        `Name must be unique. Service broker ${name} is registered, but its catalog has not been fetched yet: correct it with cf update-service-broker ${name} USERNAME PASSWORD URL`,
      )
    : taken();
}

const update = endpoint({
  method: "PATCH",
  path,
  permission: { verb: "update", on: ServiceBroker },
  asks: [{ verb: "patch", on: ServiceBroker }],
  body: updateBrokerBody,
  summary: "Update a service broker, whose catalog a job fetches again",
  handler: async ({ session, params, body, base }) => {
    const broker = session.get(ServiceBroker, params.guid);
    const { name, url: address, authentication, ca_bundle: caBundle } = body;
    if ([name, address, authentication, caBundle].every((one) => one === undefined)) {
      const patch = { type: "merge", body: { metadata: toMetadataPatch(body.metadata, broker) } } as const;
      return ok(presentBroker(session.cache, await session.patch(ServiceBroker, broker, patch), base));
    }
    await updateBroker(session, broker, body);
    return accepted(await newJob(session, "service_broker.update", session.cache.guid(ServiceBroker, broker)));
  },
});

async function updateBroker(
  session: Session,
  broker: ServiceBroker,
  body: z.output<typeof updateBrokerBody>,
): Promise<void> {
  const { name = broker.spec.name, url, authentication, ca_bundle: caBundle } = body;
  const { namespace = "" } = broker.metadata;
  const renamed = name === broker.spec.name ? undefined : { to: { ...broker, spec: { ...broker.spec, name } }, taken };
  const patchWith = (ref?: ServiceBroker["spec"]["credentialsSecretRef"]): Promise<ServiceBroker> => {
    const spec = {
      name,
      purgedOfferings: null,
      ...omitUndefined({ url, caBundle }),
      ...(ref && { credentialsSecretRef: { prefix: null, ...ref } }),
    };
    const patch = { metadata: toMetadataPatch(body.metadata, broker), spec };
    return session.patch(ServiceBroker, broker, { type: "merge", body: patch }, renamed);
  };
  if (!authentication) return void (await patchWith());
  requireNotSuspended(session, namespace);
  const owner = { namespace, guid: guidOf(broker) };
  await withNewCredentials(session, owner, authentication.credentials, patchWith);
  await removeCredentials(session, namespace, broker.spec.credentialsSecretRef);
}

const remove = endpoint({
  method: "DELETE",
  path,
  permission: { verb: "delete", on: ServiceBroker },
  summary: "Delete a service broker that no service instance is of",
  handler: async ({ session, params }) => {
    const broker = session.get(ServiceBroker, params.guid);
    const guid = session.cache.guid(ServiceBroker, broker);
    if (hasInstances(session.cache, broker)) throw new CFError("ServiceBrokerNotRemovable", broker.spec.name);
    // Its controller takes the credentials away.
    await session.delete(ServiceBroker, broker);
    return accepted(await newDeletionJob(session, ServiceBroker, guid));
  },
});

export const serviceBrokerEndpoints: readonly Endpoint[] = [list, create, get, update, remove];
