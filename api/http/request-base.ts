// The address of this API as a client sees it: links and the issuer of tokens begin with it.

export interface PublicAddress {
  /** Base URL without a trailing slash; without it the request's Host is used. */
  url?: string | undefined;
  /** Other host names of this API, whose links stay under that name. */
  otherHosts?: readonly string[] | undefined;
}

/** @param host the header, as sent */
export function requestBase(
  { url, otherHosts = [] }: PublicAddress,
  { protocol, host }: { protocol: string; host: string | undefined },
): string {
  const safe = safeHost(host);
  if (url === undefined) return `${protocol}://${safe}`;
  return otherHosts.includes(hostName(safe)) ? `${new URL(url).protocol}//${safe}` : url;
}

/** In lower case, without the port. */
export function hostName(host: string | undefined): string {
  return (host ?? "").toLowerCase().replace(/:\d+$/, "");
}

/** A valid Host header or `localhost`, so that a client cannot inject other text into links. */
function safeHost(host: string | undefined): string {
  return host && /^[\w.-]+(?::\d{1,5})?$|^\[[\da-fA-F:]+\](?::\d{1,5})?$/.test(host) ? host : "localhost";
}
