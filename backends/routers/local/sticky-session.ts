// Sticky sessions as in gorouter: the cookie __VCAP_ID__ leads a client with a session back to the instance that began it. Pure.
import type { RawHeaders } from "./headers.ts";

/** The cookie that names the instance. */
const instanceCookie = "__VCAP_ID__";
/** An answer that sets this cookie begins a session; `router.sticky_session_cookie_names` of cf-deployment. */
const sessionCookie = "JSESSIONID";

/** The GUID of the instance that a request's session is bound to. Only both cookies together count. */
export function stickyInstance(cookies: string | undefined): string | undefined {
  if (!cookies?.includes(instanceCookie)) return undefined;
  const byName = new Map(cookies.split(";").map((each) => splitPair(each)));
  return byName.has(sessionCookie) ? byName.get(instanceCookie) : undefined;
}

/** The facts of an exchange that decide about the cookie. */
export interface StickyFacts {
  /** Result of `stickyInstance` for the request. */
  requested: string | undefined;
  /** The instance that answered. */
  instanceGUID: string;
  /** Path of the route; empty for none. */
  path: string;
}

/** The value of a Set-Cookie header that binds the client to the instance; undefined when nothing is to change. */
export function stickyCookie(headers: RawHeaders, { requested, instanceGUID, path }: StickyFacts): string | undefined {
  const set = headers.filter((_, i) => i % 2 === 1 && isSetCookie(headers[i - 1] ?? ""));
  if (set.some((cookie) => cookieName(cookie) === instanceCookie)) return undefined;
  const session = set.find((cookie) => cookieName(cookie) === sessionCookie);
  const isMoved = requested !== undefined && requested !== instanceGUID;
  if (session === undefined && !isMoved) return undefined;
  const own = [`${instanceCookie}=${instanceGUID}`, `Path=${path || "/"}`, "HttpOnly"];
  return [...own, ...sharedAttributes(session)].join("; ");
}

/** The cookie ends and is guarded as the session's own is. */
function sharedAttributes(session: string | undefined): string[] {
  return (session?.split(";").slice(1) ?? [])
    .map((each) => each.trim())
    .filter((each) => /^(secure|partitioned)$|^(expires|samesite)=|^max-age=(-|0$)/i.test(each));
}

function isSetCookie(name: string): boolean {
  return name.toLowerCase() === "set-cookie";
}

function cookieName(cookie: string): string {
  return splitPair(cookie.split(";", 1)[0] ?? "")[0];
}

function splitPair(text: string): [name: string, value: string] {
  const equals = text.indexOf("=");
  return equals < 0 ? [text.trim(), ""] : [text.slice(0, equals).trim(), text.slice(equals + 1).trim()];
}
