// The signature by which the router knows a request that comes back from a route service. It is for one URL of one route, and for a minute.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { z } from "zod";
import type { RouteServiceKey, RouteServiceKeys } from "./route-service-key.ts";

export const FORWARDED_URL = "x-cf-forwarded-url";
export const SIGNATURE = "x-cf-proxy-signature";
export const METADATA = "x-cf-proxy-metadata";
/** Headers between the router and a route service; an app never gets them. */
export const ROUTE_SERVICE_HEADERS: ReadonlySet<string> = new Set([FORWARDED_URL, SIGNATURE, METADATA]);

/** How long a route service may take to send the request back, as in gorouter. Milliseconds. */
const VALID_MS = 60_000;
const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface SignedRequest {
  url: string;
  routeGUID: string;
}

export interface SignatureHeaders {
  signature: string;
  metadata: string;
}

const contentSchema = z.object({ url: z.string(), routeGUID: z.string(), time: z.number() });
const metadataSchema = z.object({ nonce: z.string(), key: z.string() });

export function signRequest({ url, routeGUID }: SignedRequest, key: RouteServiceKey, now: number): SignatureHeaders {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key.bytes, nonce);
  const content = JSON.stringify({ url, routeGUID, time: now });
  const sealed = Buffer.concat([cipher.update(content, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return {
    signature: sealed.toString("base64url"),
    metadata: Buffer.from(JSON.stringify({ nonce: nonce.toString("base64url"), key: key.id })).toString("base64url"),
  };
}

/** The id of the key that a signature says it is of; undefined for metadata that is none of ours. */
export function keyIdOf(metadata: string): string | undefined {
  return parseMetadata(metadata)?.key;
}

/** `expired`: signed by this installation for this URL and route, too long ago. `invalid`: anything else. */
export function verifySignature(
  { signature, metadata }: SignatureHeaders,
  expected: SignedRequest,
  { keys, now }: { keys: RouteServiceKeys; now: number },
): "valid" | "expired" | "invalid" {
  const content = openSignature(signature, metadata, keys);
  if (content?.url !== expected.url || content.routeGUID !== expected.routeGUID) return "invalid";
  return Math.abs(now - content.time) <= VALID_MS ? "valid" : "expired";
}

function openSignature(
  signature: string,
  metadata: string,
  { current, previous }: RouteServiceKeys,
): z.output<typeof contentSchema> | undefined {
  const parsed = parseMetadata(metadata);
  const key = [current, previous].find((each) => each !== undefined && each.id === parsed?.key);
  if (!parsed || !key) return undefined;
  try {
    const sealed = Buffer.from(signature, "base64url");
    const nonce = Buffer.from(parsed.nonce, "base64url");
    const decipher = createDecipheriv(ALGORITHM, key.bytes, nonce, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    const content = Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
    return contentSchema.parse(JSON.parse(content.toString("utf8")));
  } catch {
    return undefined; // Details would only help an attacker.
  }
}

function parseMetadata(text: string): z.output<typeof metadataSchema> | undefined {
  try {
    return metadataSchema.parse(JSON.parse(Buffer.from(text, "base64url").toString("utf8")));
  } catch {
    return undefined; // As above.
  }
}
