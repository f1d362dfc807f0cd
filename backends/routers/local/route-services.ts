// Decides where a request of a route with a route service goes: to the service, signed, or, when it comes back from there, to the app. Pure but for the signature's nonce.
import type { IncomingMessage } from "node:http";
import { type RouterResponse, routerResponses } from "./error-responses.ts";
import { hostOf, type RequestFacts, serviceHeaders } from "./headers.ts";
import type { RouteServiceKeys } from "./route-service-key.ts";
import {
  FORWARDED_URL,
  keyIdOf,
  METADATA,
  SIGNATURE,
  signRequest,
  verifySignature,
} from "./route-service-signature.ts";
import type { RouteEntry } from "./routing-table.ts";

/** A request to a route service. */
export interface ServiceRequest {
  origin: string;
  path: string;
  headers: string[];
}

interface SigningFacts {
  facts: RequestFacts;
  /** Undefined until they are known. */
  keys: RouteServiceKeys | undefined;
  now: number;
}

/** Undefined for a request that goes to the app: one that comes back from the service with its signature, and every one of a route without a service. */
export function planRouteService(
  { guid: routeGUID, routeService }: RouteEntry,
  { headers, url = "/", rawHeaders }: Pick<IncomingMessage, "headers" | "url" | "rawHeaders">,
  { facts, keys, now }: SigningFacts,
): ServiceRequest | RouterResponse | undefined {
  if (routeService === undefined) return undefined;
  if (!keys) return routerResponses.starting();
  const asked = { url: `${facts.scheme}://${headers.host ?? ""}${url}`, routeGUID };
  const signature = textOf(headers[SIGNATURE]);
  if (signature !== "") {
    const isForwarded = textOf(headers[FORWARDED_URL]) === asked.url;
    const verdict = verifySignature({ signature, metadata: textOf(headers[METADATA]) }, asked, { keys, now });
    if (verdict === "valid" && isForwarded) return undefined;
    return verdict === "expired" ? routerResponses.expiredSignature() : routerResponses.invalidSignature();
  }
  const service = new URL(routeService);
  const signed = signRequest(asked, keys.current, now);
  return {
    origin: toOrigin(service),
    path: `${service.pathname}${service.search}`,
    headers: serviceHeaders(rawHeaders, facts, { host: service.host, url: asked.url, ...signed }),
  };
}

/** A request that comes back with a signature of a key that is not known here: another router may have made it a moment ago. */
export function hasUnknownKey(
  { headers }: Pick<IncomingMessage, "headers">,
  { current, previous }: RouteServiceKeys,
): boolean {
  const metadata = headers[METADATA];
  const id = metadata === undefined ? undefined : keyIdOf(textOf(metadata));
  return id !== undefined && id !== current.id && id !== previous?.id;
}

/** Names below localhost are this machine's, whatever its resolver knows. */
function toOrigin({ protocol, hostname, port, origin }: URL): string {
  return /(^|\.)localhost$/.test(hostOf(hostname)) ? `${protocol}//127.0.0.1${port && `:${port}`}` : origin;
}

function textOf(value: string | string[] | undefined): string {
  return [value ?? ""].flat().join(", ");
}
