// Creates and changes user-provided service instances, with their credentials.
import { displayNameOf } from "../../crds/object-names.ts";
import { credentialsSecretName } from "../../crds/service-instance/credentials.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { Session } from "../access/session.ts";
import { toNamedMetadata } from "../cf/free-object-name.ts";
import { toMetadataPatch, metadataForCreate } from "../http/metadata.ts";
import {
  findOwnSecret,
  putCredentials,
  removeCredentials,
  requireBounded,
} from "../cf/service/instance-credentials.ts";
import { requireNotShared, taken } from "./name-taken.ts";
import type { CreateInstance, UpdateInstance } from "./payload.ts";

/** @throws CFError 422, in which case nothing is left */
export async function createUserProvided(
  session: Session,
  namespace: string,
  body: CreateInstance,
): Promise<ServiceInstance> {
  const { name, credentials } = body;
  requireNotShared(session.cache, namespace, name);
  requireBounded(credentials);
  const metadata = toNamedMetadata(session.cache, ServiceInstance, {
    namespace,
    name,
    fallback: "service",
    ...metadataForCreate(body.metadata),
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

/** @throws CFError 422, in which case nothing has changed */
export async function updateUserProvided(
  session: Session,
  instance: ServiceInstance,
  body: UpdateInstance,
): Promise<ServiceInstance> {
  const { name, credentials } = body;
  requireBounded(credentials);
  if (credentials) await findOwnSecret(session, instance);
  const patch = {
    type: "merge" as const,
    body: { metadata: toMetadataPatch(body.metadata, instance), spec: toSpecPatch(instance, body) },
  };
  const isRenamed = name !== undefined && name !== displayNameOf(instance);
  if (isRenamed) requireNotShared(session.cache, instance.metadata.namespace ?? "", name);
  const renamed = !isRenamed
    ? undefined
    : { to: { ...instance, spec: { ...instance.spec, name } }, taken: taken(name) };
  const after = await session.patch(ServiceInstance, instance, patch, renamed);
  if (credentials) await putCredentials(session, after, credentials);
  if (credentials === null) await removeCredentials(session, after);
  return after;
}

function toSpecPatch(instance: ServiceInstance, body: UpdateInstance): Record<string, unknown> {
  const secret = body.credentials && { name: credentialsSecretName(instance.metadata.name) };
  return {
    ...(body.name !== undefined && { name: body.name }),
    ...(body.tags && { tags: body.tags }),
    ...toURLs(body, null),
    ...(secret !== undefined && { credentialsSecretRef: secret }),
  };
}
