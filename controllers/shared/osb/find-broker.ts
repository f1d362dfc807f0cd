// How a ServiceBroker is reached: its address, and the username and password in its Secret.
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { INTERNAL_LABELS, LABELS } from "../../../crds/labels.ts";
import { guidOf } from "../../../crds/guid.ts";
import { findBundleProblem } from "../../../crds/service-broker/ca-bundle.ts";
import { BROKER_CREDENTIALS_SECRET, placeOfCredentials } from "../../../crds/service-broker/credentials.ts";
import type { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import { isForbidden } from "../../../kube/client/errors.ts";
import { NotReady, type ReconcileContext } from "../../../kube/controller/controller.ts";
import { addressRuleOf } from "./broker-addresses.ts";
import type { BrokerAccess } from "./call-broker.ts";

/** A missing or refused Secret is read again after this time, since no informer watches Secrets. */
const RECHECK_MS = 30_000;

/** @throws NotReady("CredentialsMissing"), NotReady("CABundleInvalid") */
export async function readBrokerAccess(
  broker: ServiceBroker,
  { client, read }: Pick<ReconcileContext, "client" | "read">,
): Promise<BrokerAccess> {
  const { namespace = "" } = broker.metadata;
  const { caBundle: ca } = broker.spec;
  const problem = ca === undefined ? undefined : findBundleProblem(ca);
  if (problem !== undefined) throw toFailure("CABundleInvalid", `spec.caBundle is invalid: ${problem}; correct it`);
  const { secret: key, keys, isShared } = placeOfCredentials(namespace, broker.spec.credentialsSecretRef);
  const { name } = key;
  const secret = await client.find(Secret, key).catch((error: unknown) => {
    if (isForbidden(error)) throw toMissing(`the controllers may not read Secret ${name}; ${placeOf(namespace)}`);
    throw error;
  });
  const [username, password] = keys.map((entry) => secret?.data?.[entry]);
  if (!secret || username === undefined || password === undefined)
    throw toMissing(`Secret ${name} does not exist or has no username and password; ${placeOf(namespace)}`);
  if (!isShared && !isAllowed(secret, broker))
    throw toMissing(
      `Secret ${name} is neither the broker's own nor labelled ${INTERNAL_LABELS.envAllowed}=allowed; label it`,
    );
  return {
    url: broker.spec.url.replace(/\/+$/, ""),
    username: decode(username),
    password: decode(password),
    mayConnect: addressRuleOf(broker.spec.url, broker.metadata.namespace, read),
    ca,
  };
}

function isAllowed({ metadata }: ObjectOf<typeof Secret>, broker: ServiceBroker): boolean {
  const { labels = {} } = metadata;
  return labels[INTERNAL_LABELS.envAllowed] === "allowed" || labels[LABELS.serviceBroker] === guidOf(broker);
}

function placeOf(namespace: string): string {
  return namespace === SYSTEM_NAMESPACE
    ? `put them into Secret ${BROKER_CREDENTIALS_SECRET} as PREFIX.username and PREFIX.password, and PREFIX into spec.credentialsSecretRef.prefix`
    : "create it, with the keys username and password";
}

function toMissing(message: string): NotReady {
  return toFailure("CredentialsMissing", message);
}

function toFailure(reason: string, message: string): NotReady {
  return new NotReady(reason, message, { isFailure: true, requeueAfterMs: RECHECK_MS });
}

function decode(value: string): string {
  return Buffer.from(value, "base64").toString("utf8");
}
