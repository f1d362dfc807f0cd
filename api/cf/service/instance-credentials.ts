// The credentials of a user-provided instance, in a Secret that only the platform's identity reads, after RBAC allowed serviceinstances/credentials.
import { isDeepStrictEqual } from "node:util";
import {
  credentialsLabels,
  credentialsSecretName,
  isCredentialsSecret,
  isOwnSecret,
  MAX_CREDENTIALS_BYTES,
  readCredentials,
  toSecretData,
  type Credentials,
} from "../../../crds/service-instance/credentials.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { apiVersionOf } from "../../../kube/api/resource-ref.ts";
import type { Draft, KubeClient } from "../../../kube/client/client.ts";
import { isAlreadyExists } from "../../../kube/client/errors.ts";
import { accessSecret } from "../../access/rbac-lag.ts";
import type { Session } from "../../access/session.ts";
import { requireNotSuspended } from "../../access/suspension.ts";
import { unprocessable } from "../../http/errors.ts";

/** The credentials; empty when there are none, or when their Secret is missing or not allowed. The caller must have been authorized. */
export async function findCredentials(session: Session, instance: ServiceInstance): Promise<Credentials> {
  const name = instance.spec.credentialsSecretRef?.name;
  if (name === undefined) return {};
  const { namespace = "" } = instance.metadata;
  const { platformClient, signal } = session;
  const secret = await accessSecret(() => platformClient.find(Secret, { namespace, name }, { signal }), signal);
  const guid = session.cache.guid(ServiceInstance, instance);
  const isOwn = secret && isCredentialsSecret(secret, instance.metadata.name, guid);
  return (isOwn && readCredentials(secret)) || {};
}

/** @throws CFError 422 when they are too large */
export function requireBounded(credentials: Credentials | null | undefined): void {
  const bytes = credentials ? Buffer.byteLength(JSON.stringify(credentials)) : 0;
  if (bytes > MAX_CREDENTIALS_BYTES)
    throw unprocessable(`Credentials may have ${MAX_CREDENTIALS_BYTES} bytes as JSON; these have ${bytes}.`);
}

/** The instance's own Secret; undefined when there is none. @throws CFError 422 when a foreign Secret has its name */
export async function findOwnSecret(session: Session, instance: ServiceInstance) {
  const { platformClient, signal } = session;
  const key = secretKeyOf(instance);
  const found = await accessSecret(() => platformClient.find(Secret, key, { signal }), signal);
  if (found && !isOwnSecret(found, instance.metadata.name, session.cache.guid(ServiceInstance, instance)))
    throw unprocessable(
      `The Secret ${key.name} is not this service instance's own, so its credentials cannot be kept there. Choose another name for the instance.`,
    );
  return found;
}

/** Writes the instance's own Secret, if it differs. @throws CFError 403 in a suspended space, 422 when a foreign Secret has its name */
export async function putCredentials(
  session: Session,
  instance: ServiceInstance,
  credentials: Credentials,
): Promise<void> {
  requireNotSuspended(session, instance.metadata.namespace);
  const { platformClient, signal } = session;
  const key = secretKeyOf(instance);
  const data = toSecretData(credentials);
  const draft = { metadata: { ...key, ...ownership(session, instance) }, type: "Opaque", data };
  let found = await findOwnSecret(session, instance);
  if (!found) {
    if (await createFirst(platformClient, draft, signal)) return;
    found = await findOwnSecret(session, instance);
  }
  if (found && isDeepStrictEqual({ ...found.data }, data)) return;
  await platformClient.patch(Secret, key, { type: "merge", body: { data } }, { signal });
}

/** Deletes the instance's own Secret, if there is one. @throws CFError 403 in a suspended space */
export async function removeCredentials(session: Session, instance: ServiceInstance): Promise<void> {
  requireNotSuspended(session, instance.metadata.namespace);
  const { platformClient, signal } = session;
  const found = await findOwnSecret(session, instance);
  if (!found) return;
  const { uid, resourceVersion } = found.metadata;
  await platformClient.delete(Secret, secretKeyOf(instance), { signal, preconditions: { uid, resourceVersion } });
}

/** False when another request at the same time has created it. */
async function createFirst(client: KubeClient, draft: Draft, signal: AbortSignal): Promise<boolean> {
  try {
    await client.create(Secret, draft, { signal });
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}

function secretKeyOf({ metadata: { name, namespace = "" } }: ServiceInstance): { namespace: string; name: string } {
  return { namespace, name: credentialsSecretName(name) };
}

function ownership(session: Session, instance: ServiceInstance) {
  const { name, uid = "" } = instance.metadata;
  return {
    labels: credentialsLabels(session.cache.guid(ServiceInstance, instance)),
    ownerReferences: [{ apiVersion: apiVersionOf(ServiceInstance), kind: ServiceInstance.kind, name, uid }],
  };
}
