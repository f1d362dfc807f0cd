// A job's GUID holds its operation, object, start time and, once complete, its errors. Nothing is stored: a keyed digest proves that we issued it.
import { createHmac, timingSafeEqual } from "node:crypto";
import { DEFINITIONS, findDefinition } from "../../crds/definitions.ts";
import type { DeletionOperation, KindDefinition } from "../../crds/kind.ts";

/** Operations that delete an object of a kind whose definition names them. */
const DELETIONS: ReadonlyMap<string, KindDefinition> = new Map(
  DEFINITIONS.flatMap((kind) => (kind.deletionJob ? [[kind.deletionJob, kind]] : [])),
);

/** The other operations, each with the kind whose objects decide how far it is; undefined where the GUID holds the outcome. */
const OTHERS = {
  "app.clear_buildpack_cache": undefined,
  "admin.clear_buildpack_cache": undefined,
  "buildpack.upload": undefined,
  "role.delete": undefined,
  "user.delete": undefined,
  "droplet.upload": "Droplet",
  "space.apply_manifest": undefined,
  "space.delete_unmapped_routes": undefined,
  "service_instance.create": "ServiceInstance",
  "service_instance.update": "ServiceInstance",
  "service_instance.delete": "ServiceInstance",
  "service_bindings.create": "ServiceBinding",
  "service_bindings.delete": "ServiceBinding",
  "service_route_bindings.create": "ServiceBinding",
  "service_route_bindings.delete": "ServiceBinding",
  "service_keys.create": "ServiceBinding",
  "service_keys.delete": "ServiceBinding",
  "service_broker.catalog.synchronize": undefined,
  "service_broker.update": undefined,
} as const;
/** An operation that no kind's definition names. */
export type OtherOperation = keyof typeof OTHERS;
export type Operation = OtherOperation | DeletionOperation;

function isOperation(text: string): text is Operation {
  return DELETIONS.has(text) || Object.hasOwn(OTHERS, text);
}

/** The kind whose objects decide how far a job is; undefined when it is complete already. */
export function watchedKindOf(operation: Operation): KindDefinition | undefined {
  return DELETIONS.get(operation) ?? findDefinition(OTHERS[operation as OtherOperation] ?? "");
}

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
  if (!isOperation(operation)) return undefined;
  const job = {
    operation,
    guid: decodeURIComponent(guid),
    startedAt: Number.parseInt(startedAt, 36),
    ...(generation !== undefined && { generation: Number.parseInt(generation, 36) }),
  };
  return outcome === undefined ? job : { ...job, errors: parseOutcome(outcome) };
}

function parseOutcome(text: string): string[] {
  return JSON.parse(Buffer.from(text, "base64url").toString()) as string[];
}
