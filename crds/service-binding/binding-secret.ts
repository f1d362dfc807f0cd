// The Secret with what a broker gave for a binding: as CF shows it, and one key for each credential, as servicebinding.io has it. Pure.
import type { Secret } from "../../kube/api/builtin.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import { LABELS } from "../labels.ts";
import { CREDENTIALS_KEY, readCredentials, type Credentials } from "../service-instance/credentials.ts";

type SecretObject = ObjectOf<typeof Secret>;

/** A broker's answer to a bind request. */
export interface BindingContent {
  /** Null where nobody has given any. */
  credentials: Credentials | null;
  syslogDrainURL?: string;
  routeServiceURL?: string;
  volumeMounts?: readonly unknown[];
}

const DRAIN_KEY = "syslog_drain_url";
const ROUTE_SERVICE_KEY = "route_service_url";
const MOUNTS_KEY = "volume_mounts";
/** Keys of the Secret with a meaning of their own; all credentials are in `credentials`, whatever their names. */
const RESERVED = new Set([CREDENTIALS_KEY, DRAIN_KEY, ROUTE_SERVICE_KEY, MOUNTS_KEY, "type", "provider"]);

/** Does Kubernetes take it as a key of a Secret? */
function isKey(name: string): boolean {
  return /^[-._a-zA-Z0-9]{1,253}$/.test(name) && name !== "." && !name.startsWith("..");
}

export function bindingSecretName(binding: string): string {
  return `${binding}-binding`;
}

/** `data`. `type` is the offering's name. */
export function toBindingData(
  { credentials, syslogDrainURL, routeServiceURL, volumeMounts = [] }: BindingContent,
  type: string,
): Record<string, string> {
  const single = Object.entries(credentials ?? {})
    .filter(([key]) => isKey(key) && !RESERVED.has(key))
    .map(([key, value]): [string, string] => [key, typeof value === "string" ? value : JSON.stringify(value)]);
  const texts = {
    ...Object.fromEntries(single),
    type,
    // As in CF, where the offering is both.
    provider: type,
    [CREDENTIALS_KEY]: JSON.stringify(credentials ?? {}),
    ...(syslogDrainURL !== undefined && { [DRAIN_KEY]: syslogDrainURL }),
    ...(routeServiceURL !== undefined && { [ROUTE_SERVICE_KEY]: routeServiceURL }),
    ...(volumeMounts.length > 0 && { [MOUNTS_KEY]: JSON.stringify(volumeMounts) }),
  };
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
}

/** Undefined for a Secret that is not this binding's own. */
export function readBindingContent(secret: SecretObject | undefined, bindingGUID: string): BindingContent | undefined {
  if (!secret || secret.metadata.labels?.[LABELS.serviceBinding] !== bindingGUID) return undefined;
  const [drain, routeService, mounts] = [DRAIN_KEY, ROUTE_SERVICE_KEY, MOUNTS_KEY].map((key) =>
    decode(secret.data?.[key]),
  );
  return {
    credentials: readCredentials(secret) ?? {},
    ...(drain !== undefined && { syslogDrainURL: drain }),
    ...(routeService !== undefined && { routeServiceURL: routeService }),
    ...(mounts !== undefined && { volumeMounts: parseList(mounts) }),
  };
}

function parseList(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return []; // a person wrote it
  }
}

function decode(value: string | undefined): string | undefined {
  return value === undefined ? undefined : Buffer.from(value, "base64").toString("utf8");
}
