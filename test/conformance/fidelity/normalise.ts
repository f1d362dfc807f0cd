// Takes out of answers what no two servers could share: uids, versions, times, allocated addresses, random suffixes. What is the same thing stays the same word.
import type { Answer, Json } from "../kubernetes/api.ts";
import { withoutMessagePatterns } from "./known-differences.ts";
import type { Outcome } from "./step.ts";

/** Remembers what it has seen: one for each sequence and server. */
export interface Normaliser {
  /** @param prefix what was sent as generateName, of whatever type: refusals may name the object. */
  outcome(answer: Answer, prefix?: unknown): Outcome;
}

const RANDOM_SUFFIX = 5;
/** As much of a generateName stays. */
const PREFIX = 58;

const timesOf = (times: Record<string, unknown>): Json =>
  Object.fromEntries(
    Object.entries(times)
      .filter(([, time]) => time !== undefined)
      .map(([field, time]) => [field, time && "time"]),
  );

function isGenerated({ name, generateName }: Json): boolean {
  const prefix = generateName?.slice(0, PREFIX);
  return Boolean(prefix) && name?.startsWith(prefix) && name.length === prefix.length + RANDOM_SUFFIX;
}

export function createNormaliser(): Normaliser {
  const uids = new Map<string, string>();
  const versions = new Map<string, string[]>();

  const uidWord = (uid: string) => {
    let word = uids.get(uid);
    if (!word) uids.set(uid, (word = `uid-${uids.size + 1}`));
    return word;
  };
  /** The how-manieth version of its object this is. */
  const versionWord = (uid: string, version: string) => {
    const seen = versions.get(uid) ?? [];
    if (!seen.includes(version)) versions.set(uid, [...seen, version]);
    return `rv-${(versions.get(uid) ?? []).indexOf(version) + 1}`;
  };
  const textOf = (text: string) =>
    withoutMessagePatterns(
      [...uids]
        .reduce((out, [uid, word]) => out.replaceAll(uid, word), text)
        .replace(/(ResourceVersion in (?:the )?(?:record|precondition) \()\d+/g, "$1rv")
        .replace(/\b10\.(?:9[6-9]|1[01]\d)\.\d+\.\d+\b/g, "address")
        .replace(/(?<=in the precondition \()\d+(?=\))/g, "rv")
        .replace(/(?<=ResourceVersion in (?:precondition|object meta): )\d+/g, "rv"),
    )
      .split("\n")
      .sort()
      .join("\n");

  function object(value: Json): Json {
    const { metadata = {}, ...rest } = value;
    const meta = metaOf(metadata ?? {});
    const out = { ...rest, metadata: meta };
    // Items of a list do not say their kind.
    if (out.spec?.clusterIP !== undefined || value.kind === "Service") out.spec = serviceSpec(out.spec);
    return out;
  }

  function metaOf({ uid, resourceVersion, creationTimestamp, deletionTimestamp, managedFields, ...rest }: Json): Json {
    const out = { ...rest, ...timesOf({ creationTimestamp, deletionTimestamp }) };
    if (uid !== undefined) out.uid = uidWord(uid);
    if (resourceVersion !== undefined) out.resourceVersion = uid ? versionWord(uid, resourceVersion) : "rv";
    if (managedFields !== undefined) out.managedFields = managers(managedFields);
    if (isGenerated(rest)) out.name = `${rest.generateName.slice(0, PREFIX)}*****`;
    return out;
  }

  /** A list of objects, or one. */
  function bodyOf(body: Json): Json {
    if (typeof body !== "object" || body === null) return body;
    if (body.kind === "Status") return status(body);
    if (!Array.isArray(body.items)) return object(body);
    const { resourceVersion, continue: next, ...metadata } = body.metadata;
    return {
      ...body,
      metadata: { ...metadata, ...(resourceVersion && { resourceVersion: "rv" }), ...(next && { continue: "token" }) },
      items: sortedIfRandom(body.items.map(object)),
    };
  }

  function status(body: Json): Json {
    const details = body.details && {
      ...body.details,
      ...(body.details.uid && { uid: uidWord(body.details.uid) }),
      ...(body.details.causes && {
        causes: onceEach(
          body.details.causes.map((cause: Json) => ({ ...cause, message: textOf(cause.message ?? "") })),
        ),
      }),
    };
    return {
      ...body,
      message: body.message === undefined ? undefined : messageOf(body, textOf),
      ...(details && { details }),
    };
  }

  return {
    outcome({ status: code, body, headers }, prefix) {
      const warnings = [headers.warning ?? []]
        .flat()
        .flatMap((text) => text.split(/, (?=299 - )/))
        .map(textOf)
        .sort();
      const sent =
        typeof prefix === "string" && prefix !== "" && body?.kind === "Status" ? withoutGenerated(body, prefix) : body;
      return { status: code, body: bodyOf(sent), warnings };
    },
  };
}

function withoutGenerated(body: Json, prefix: string): Json {
  return JSON.parse(
    JSON.stringify(body)
      .replaceAll(prefix.slice(0, PREFIX), "<prefix>")
      .replaceAll(/<prefix>[a-z0-9]{5}(?!\w)/g, "<generated>"),
  ) as Json;
}

/** Several causes come in the order of Go's maps: they are compared as causes. Go's decoders speak of Go's own types: their words are cut off. */
function messageOf(body: Json, textOf: (text: string) => string): string {
  const message = textOf(body.message);
  const strict = message.search(/(?<=strict decoding error: )/);
  if (strict !== -1) return message.slice(0, strict) + message.slice(strict).split(", ").sort().join(", ");
  if (new Set((body.details?.causes ?? []).map(canonical)).size > 1) return message.slice(0, message.indexOf(": ") + 1);
  return message;
}

/** JSON with the keys of objects in order. */
const canonical = (value: Json): string =>
  JSON.stringify(value, (_key, inner: Json) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
const orderOf = ({ field, message, reason, ...rest }: Json) => canonical([field, message, reason, rest]);
const sorted = (list: Json[]): Json[] => list.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
/** kube-apiserver judges metadata of a change up to three times and tells each fault as often; see known.ts. */
const onceEach = (causes: Json[]): Json[] =>
  sorted([...new Map(causes.map((cause) => [canonical(cause), cause])).values()]);
const sortedIfRandom = (items: Json[]): Json[] =>
  items.some(({ metadata }) => metadata.name?.endsWith("*****")) ? sorted(items) : items;

/** Bodies of the pages of one list. Random names stand in an order of their own across all of them. */
export function normalisePages(pages: readonly Json[]): Json[] {
  const items = sortedIfRandom(pages.flatMap((page) => (page.items ?? []) as Json[]));
  let at = 0;
  return pages.map((page) =>
    Array.isArray(page.items) ? { ...page, items: items.slice(at, (at += page.items.length)) } : page,
  );
}

function managers(entries: Json[]): Json[] {
  return sorted(
    entries.map(({ time, manager, operation, subresource, apiVersion, ...rest }: Json) => ({
      manager,
      operation,
      subresource,
      apiVersion,
      ...rest,
      ...(time && { time: "time" }),
    })),
  );
}

const isAllocated = (address: unknown) => typeof address === "string" && /^10\.\d+\.\d+\.\d+$/.test(address);

function serviceSpec(spec: Json): Json {
  if (typeof spec !== "object" || spec === null) return spec;
  return {
    ...spec,
    ...(isAllocated(spec.clusterIP) && { clusterIP: "address" }),
    ...(Array.isArray(spec.clusterIPs) && {
      clusterIPs: spec.clusterIPs.map((each: Json) => (isAllocated(each) ? "address" : each)),
    }),
    ...(Array.isArray(spec.ports) && {
      ports: spec.ports.map((port: Json) => (port?.nodePort ? { ...port, nodePort: "port" } : port)),
    }),
  };
}
