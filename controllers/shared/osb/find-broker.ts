// How a ServiceBroker is reached: its address, and the username and password in its Secret.
import { INTERNAL_LABELS, LABELS } from "../../../crds/labels.ts";
import { guidOf } from "../../../crds/guid.ts";
import type { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { NotReady, type ReconcileContext } from "../../../kube/controller/controller.ts";
import type { BrokerAccess } from "./call-broker.ts";

/** A missing or refused Secret is read again after this time, since no informer watches Secrets. */
const RECHECK_MS = 30_000;

/** @throws NotReady("CredentialsMissing") */
export async function readBrokerAccess(
  broker: ServiceBroker,
  { client }: Pick<ReconcileContext, "client">,
): Promise<BrokerAccess> {
  const { namespace = "" } = broker.metadata;
  const { name } = broker.spec.credentialsSecretRef;
  const secret = await client.find(Secret, { namespace, name });
  const labels = secret?.metadata.labels ?? {};
  const isAllowed = labels[INTERNAL_LABELS.envAllowed] === "allowed" || labels[LABELS.serviceBroker] === guidOf(broker);
  const [username, password] = ["username", "password"].map((key) => secret?.data?.[key]);
  if (!isAllowed || username === undefined || password === undefined)
    throw new NotReady(
      "CredentialsMissing",
      `Secret ${name} does not exist, has no keys username and password, or is neither the broker's own nor labelled cupola.dev/env=allowed; correct it`,
      { isFailure: true, requeueAfterMs: RECHECK_MS },
    );
  return { url: broker.spec.url.replace(/\/+$/, ""), username: decode(username), password: decode(password) };
}

function decode(value: string): string {
  return Buffer.from(value, "base64").toString("utf8");
}
