// The Secret with a service instance's credentials: its name, whose it is, and what it says. Pure.
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import type { Secret } from "../../kube/api/builtin.ts";
import { INTERNAL_LABELS, LABELS } from "../labels.ts";

type SecretObject = ObjectOf<typeof Secret>;
export type Credentials = Record<string, unknown>;

/** The key with all credentials as a JSON object. */
export const CREDENTIALS_KEY = "credentials";
/** Bytes of JSON; all of an app's environment has a bound, too. */
export const MAX_CREDENTIALS_BYTES = 64 * 1024;

/** Name of the Secret where the API keeps what `cf create-user-provided-service -p` gave. `instance` is the object name. */
export function credentialsSecretName(instance: string): string {
  return `${instance}-credentials`;
}

/** The labels of that Secret. */
export function credentialsLabels(instanceGUID: string): Record<string, string> {
  return { [LABELS.serviceInstance]: instanceGUID };
}

/** May bound apps get what this Secret says? The instance's own, by name and GUID, or one that somebody has labelled for use in environments. */
export function isCredentialsSecret(secret: SecretObject, instance: string, guid: string): boolean {
  return secret.metadata.labels?.[INTERNAL_LABELS.envAllowed] === "allowed" || isOwnSecret(secret, instance, guid);
}

/** Is it the Secret that the API wrote for the instance? Only that one may be written. */
export function isOwnSecret({ metadata }: SecretObject, instance: string, guid: string): boolean {
  return metadata.name === credentialsSecretName(instance) && metadata.labels?.[LABELS.serviceInstance] === guid;
}

/** The credentials of a Secret: the object in its key `credentials`, else each key with its text. Undefined when that key has no JSON object. */
export function readCredentials({ data = {} }: Pick<SecretObject, "data">): Credentials | undefined {
  const whole = data[CREDENTIALS_KEY];
  if (whole === undefined) return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, decode(value)]));
  return parseObject(decode(whole));
}

/** `data` of the Secret that the API writes. */
export function toSecretData(credentials: Credentials): Record<string, string> {
  return { [CREDENTIALS_KEY]: Buffer.from(JSON.stringify(credentials)).toString("base64") };
}

function decode(value: string): string {
  return Buffer.from(value, "base64").toString("utf8");
}

function parseObject(text: string): Credentials | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Credentials) : undefined;
  } catch {
    return undefined; // a person wrote it
  }
}
