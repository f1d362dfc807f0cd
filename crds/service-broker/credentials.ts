// Where the username and password of a broker are. Pure.
import type { ServiceBroker } from "./service-broker.ts";

/**
 * The Secret with the credentials of the whole platform's brokers, each under a prefix of its own: in the system namespace the platform's identities read Secrets by
 * name only, so that none of them reads all that is there.
 */
export const BROKER_CREDENTIALS_SECRET = "cupola-broker-credentials";

/** The keys in the Secret. */
export function credentialKeys({
  prefix,
}: Pick<ServiceBroker["spec"]["credentialsSecretRef"], "prefix">): readonly [username: string, password: string] {
  return prefix === undefined ? ["username", "password"] : [`${prefix}.username`, `${prefix}.password`];
}
