// Which host and path a request means (RFC 9112, 3.2), decided once for every listener.
import type { IncomingMessage } from "node:http";

/**
 * Gives the request a target in origin form and one Host: in absolute form (`GET http://host/path`) the URI's authority replaces the Host header, as a proxy must.
 * Returns the reason when the request is invalid, else undefined.
 */
export function normalizeTarget(request: IncomingMessage): string | undefined {
  if (countHosts(request.rawHeaders) > 1) return "the request has more than one Host header";
  const target = request.url ?? "/";
  if (target.startsWith("/") || target === "*") return undefined;
  const match = /^https?:\/\/([^/?#]+)([^#]*)$/i.exec(target);
  // Userinfo in a target can disguise one host as another.
  if (!match?.[1] || match[1].includes("@")) return "the request's target is neither a path nor a URL";
  request.url = !match[2] ? "/" : match[2].startsWith("/") ? match[2] : `/${match[2]}`;
  setHost(request, match[1]);
  return undefined;
}

function countHosts(raw: readonly string[]): number {
  return raw.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length;
}

function setHost(request: IncomingMessage, host: string): void {
  request.headers.host = host;
  const at = request.rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === "host");
  if (at < 0) request.rawHeaders.push("Host", host);
  else request.rawHeaders[at + 1] = host;
}
