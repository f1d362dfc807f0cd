// Where the username and password of a broker are. Pure.
import { createHash } from "node:crypto";
import { SYSTEM_NAMESPACE } from "../groups.ts";
import type { ServiceBroker } from "./service-broker.ts";

/**
 * The Secret with the credentials of the whole platform's brokers, each under a prefix of its own: in the system namespace the platform's identities read Secrets by
 * name only, so that none of them reads all that is there.
 */
export const BROKER_CREDENTIALS_SECRET = "cupola-broker-credentials";

const SPACE_SECRETS = 8;
/**
 * The Secrets with the credentials of spaces' brokers that the API was given, each under its namespace and a prefix. With its namespace a Secret of the space would
 * go first, and nobody could tell the broker to delete what it has. Apart from those of the whole platform, which tenants cannot crowd out.
 */
export const SPACE_CREDENTIALS_SECRETS: readonly string[] = Array.from(
  { length: SPACE_SECRETS },
  (_none, at) => `cupola-space-broker-credentials-${at}`,
);

/** Secrets of the system namespace that belong to what is exported; an import writes no others there. */
export const SYSTEM_CREDENTIALS_SECRETS: readonly string[] = [BROKER_CREDENTIALS_SECRET, ...SPACE_CREDENTIALS_SECRETS];

export type CredentialsRef = ServiceBroker["spec"]["credentialsSecretRef"];

export interface CredentialsPlace {
  secret: { namespace: string; name: string };
  keys: readonly [username: string, password: string];
  /** Whether it is a Secret of the platform with the credentials of several brokers. */
  isShared: boolean;
}

/** A new place for credentials that the API is given for a broker of this namespace. */
export function newCredentialsRef(namespace: string, prefix: string): CredentialsRef {
  if (namespace === SYSTEM_NAMESPACE) return { name: BROKER_CREDENTIALS_SECRET, prefix };
  const at = createHash("sha256").update(namespace).digest().readUInt8() % SPACE_SECRETS;
  return { name: SPACE_CREDENTIALS_SECRETS[at] ?? BROKER_CREDENTIALS_SECRET, prefix };
}

/** The keys of a space's broker begin with its namespace, so that no space names the credentials of another. */
export function placeOfCredentials(namespace: string, { name, prefix }: CredentialsRef): CredentialsPlace {
  const isSpaces = namespace !== SYSTEM_NAMESPACE && prefix !== undefined && SPACE_CREDENTIALS_SECRETS.includes(name);
  const isPlatforms = namespace === SYSTEM_NAMESPACE && name === BROKER_CREDENTIALS_SECRET;
  const start = [...(isSpaces ? [namespace] : []), ...(prefix === undefined ? [] : [prefix])];
  const keyOf = (key: string): string => [...start, key].join(".");
  return {
    secret: { namespace: isSpaces ? SYSTEM_NAMESPACE : namespace, name },
    keys: [keyOf("username"), keyOf("password")],
    isShared: isSpaces || isPlatforms,
  };
}
