// A job's GUID holds its operation, object, start time and, once complete, its errors. Nothing is stored: a keyed digest proves that we issued it.
import { createHmac, timingSafeEqual } from "node:crypto";

/** Each operation with the kind whose deletion completes it; undefined where the GUID holds the outcome. */
export const operations = {
  "app.delete": "App",
  "organization.delete": "Org",
  "space.delete": "Space",
  "route.delete": "Route",
  "domain.delete": "Domain",
  "package.delete": "Package",
  "droplet.delete": "Droplet",
  "buildpack.delete": "Buildpack",
  "app.clear_buildpack_cache": undefined,
  "admin.clear_buildpack_cache": undefined,
  "buildpack.upload": undefined,
  "role.delete": undefined,
  "user.delete": undefined,
  "droplet.upload": undefined,
  "space.apply_manifest": undefined,
  "space.delete_unmapped_routes": undefined,
  "organization_quota.delete": "OrgQuota",
  "space_quota.delete": "SpaceQuota",
  "security_group.delete": "SecurityGroup",
  "service_instance.create": "ServiceInstance",
  "service_instance.update": "ServiceInstance",
  "service_instance.delete": "ServiceInstance",
  "service_bindings.create": "ServiceBinding",
  "service_bindings.delete": "ServiceBinding",
  "service_keys.create": "ServiceBinding",
  "service_keys.delete": "ServiceBinding",
  "service_broker.catalog.synchronize": undefined,
  "service_broker.update": undefined,
  "service_broker.delete": "ServiceBroker",
} as const;
export type Operation = keyof typeof operations;

export interface Job {
  operation: Operation;
  /** GUID of the object. */
  guid: string;
  /** Seconds since the epoch. */
  startedAt: number;
  /** metadata.generation that an update is to bring about. */
  generation?: number;
  /** Details of the errors of a failed job. */
  errors?: readonly string[];
}

/** Errors are truncated to this many characters, so that the GUID fits in a URL. */
const maxErrorText = 3000;

/** Bytes of the digest that a GUID carries. */
const DIGEST_BYTES = 16;

/** The GUID of a job. `key` is the installation's. */
export function toJobGUID({ operation, guid, startedAt, generation, errors }: Job, key: Uint8Array): string {
  const time = startedAt.toString(36);
  const parts = [operation, guid, generation === undefined ? time : `${time}.${generation.toString(36)}`];
  if (errors?.length) parts.push(Buffer.from(JSON.stringify(truncate(errors))).toString("base64url"));
  const content = parts.map(escaped).join("~");
  return `${content}~${digestOf(content, key).toString("base64url")}`;
}

function digestOf(content: string, key: Uint8Array): Buffer {
  return createHmac("sha256", key).update(content).digest().subarray(0, DIGEST_BYTES);
}

/** Users' GUIDs may contain any character, including the separator. */
function escaped(part: string): string {
  return encodeURIComponent(part).replaceAll("~", "%7E");
}

function truncate(errors: readonly string[]): string[] {
  const fit: string[] = [];
  let left = maxErrorText;
  for (const error of errors) {
    if (left <= 0) break;
    fit.push(error.slice(0, left));
    left -= error.length;
  }
  return fit;
}

/** Decodes a job GUID; undefined unless it was issued with this key. */
export function parseJobGUID(text: string, key: Uint8Array): Job | undefined {
  const end = text.lastIndexOf("~");
  const content = text.slice(0, Math.max(end, 0));
  const given = Buffer.from(text.slice(end + 1), "base64url");
  if (given.length !== DIGEST_BYTES || !timingSafeEqual(given, digestOf(content, key))) return undefined;
  const [, operation = "", guid = "", startedAt = "", generation, outcome] =
    /^([^~]+)~([^~]+)~([0-9a-z]{1,8})(?:\.([0-9a-z]{1,8}))?(?:~([\w-]+))?$/.exec(content) ?? [];
  if (!Object.hasOwn(operations, operation)) return undefined;
  const job = {
    operation: operation as Operation,
    guid: decodeURIComponent(guid),
    startedAt: Number.parseInt(startedAt, 36),
    ...(generation !== undefined && { generation: Number.parseInt(generation, 36) }),
  };
  return outcome === undefined ? job : { ...job, errors: parseOutcome(outcome) };
}

function parseOutcome(text: string): string[] {
  return JSON.parse(Buffer.from(text, "base64url").toString()) as string[];
}
