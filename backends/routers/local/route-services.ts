// Decides where a request of a route with a route service goes: to the service, signed, or, when it comes back from there, to the app. Pure but for the signature's nonce.
import type { IncomingMessage } from "node:http";
import { type RouterResponse, routerResponses } from "./error-responses.ts";
import { hostOf, type RequestFacts, serviceHeaders } from "./headers.ts";
import { FORWARDED_URL, METADATA, SIGNATURE, signRequest, verifySignature } from "./route-service-signature.ts";
import type { RouteEntry } from "./routing-table.ts";

/** A request to a route service. */
export interface ServiceRequest {
  origin: string;
  path: string;
  headers: string[];
}

export interface RouteServiceKey {
  /** 32 bytes; undefined until it is known. */
  key: Uint8Array | undefined;
  now: number;
}

/** Undefined for a request that goes to the app: one that comes back from the service with its signature, and every one of a route without a service. */
export function planRouteService(
  { guid: routeGUID, routeService }: RouteEntry,
  { headers, url = "/", rawHeaders }: Pick<IncomingMessage, "headers" | "url" | "rawHeaders">,
  { facts, key, now }: RouteServiceKey & { facts: RequestFacts },
): ServiceRequest | RouterResponse | undefined {
  if (routeService === undefined) return undefined;
  if (!key) return routerResponses.starting();
  const asked = { url: `${facts.scheme}://${headers.host ?? ""}${url}`, routeGUID };
  const signature = textOf(headers[SIGNATURE]);
  if (signature !== "") {
    const isForwarded = textOf(headers[FORWARDED_URL]) === asked.url;
    const verdict = verifySignature({ signature, metadata: textOf(headers[METADATA]) }, asked, { key, now });
    if (verdict === "valid" && isForwarded) return undefined;
    return verdict === "expired" ? routerResponses.expiredSignature() : routerResponses.invalidSignature();
  }
  const service = new URL(routeService);
  const signed = signRequest(asked, key, now);
  return {
    origin: toOrigin(service),
    path: `${service.pathname}${service.search}`,
    headers: serviceHeaders(rawHeaders, facts, { host: service.host, url: asked.url, ...signed }),
  };
}

/** Names below localhost are this machine's, whatever its resolver knows. */
function toOrigin({ protocol, hostname, port, origin }: URL): string {
  return /(^|\.)localhost$/.test(hostOf(hostname)) ? `${protocol}//127.0.0.1${port && `:${port}`}` : origin;
}

function textOf(value: string | string[] | undefined): string {
  return [value ?? ""].flat().join(", ");
}
