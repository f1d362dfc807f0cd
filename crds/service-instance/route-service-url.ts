// The addresses that a route service may have. Pure.

/** https; on a laptop, whose apps have no certificate, also http below localhost. */
export function isRouteServiceURL(text: string): boolean {
  const url = URL.parse(text);
  if (!url || url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && url.hostname.endsWith(".localhost"));
}
