// The public keys of a token issuer, from OpenID Connect discovery: fetched on demand, cached for minutes, with a deadline and a size limit.
import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from "jose";
import { Agent, request } from "undici";

/** The issuer's keys could not be fetched, so tokens can be neither accepted nor rejected. */
export class KeysUnavailable extends Error {}

/** How long keys are cached, and so how long a withdrawn key stays valid at most. Milliseconds. */
const KEYS_TTL_MS = 5 * 60_000;
/** Minimum interval between fetches for an unknown key. Milliseconds. */
const COOLDOWN_MS = 5_000;
const DEADLINE_MS = 5_000;
const MAX_BYTES = 1024 * 1024;
/** Errors of key selection that are the token's fault; all others are the issuer's. */
const TOKEN_ERRORS = new Set(["ERR_JWKS_NO_MATCHING_KEY", "ERR_JWKS_MULTIPLE_MATCHING_KEYS", "ERR_JOSE_NOT_SUPPORTED"]);

/** Creates a function that selects a token's key. It throws NoKeys, or a JOSEError when the token names no key of the issuer. `ca` is PEM. */
export function createIssuerKeys(issuer: string, ca: string | undefined): JWTVerifyGetKey {
  // No keep-alive: a connection would be used once every few minutes.
  const agent = new Agent({
    connect: { timeout: DEADLINE_MS, ...(ca !== undefined && { ca }) },
    pipelining: 0,
    maxResponseSize: MAX_BYTES,
    allowH2: false,
  });
  const discovery = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const get = async (url: string, signal: AbortSignal): Promise<unknown> => {
    const { statusCode, body } = await request(url, {
      dispatcher: agent,
      signal,
      headers: { accept: "application/json" },
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`);
    return JSON.parse(text);
  };
  const keys = createRemoteJWKSet(new URL(discovery), {
    cacheMaxAge: KEYS_TTL_MS,
    cooldownDuration: COOLDOWN_MS,
    timeoutDuration: DEADLINE_MS,
    // Discovery runs on every fetch, so that a changed `jwks_uri` takes effect.
    [customFetch]: async (url, { signal }) =>
      Response.json(await get(getJwksUri(await get(url, signal), issuer), signal)),
  });
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (cause) {
      if (TOKEN_ERRORS.has((cause as { code?: string }).code ?? "")) throw cause;
      throw new KeysUnavailable(`the token issuer ${issuer} did not give its keys`, { cause });
    }
  };
}

/** @throws Error when the document belongs to another issuer, or its `jwks_uri` is not https */
function getJwksUri(document: unknown, issuer: string): string {
  const { issuer: said, jwks_uri: address } = (document ?? {}) as { issuer?: unknown; jwks_uri?: unknown };
  if (said !== issuer) throw new Error("the discovery document is of another issuer");
  if (typeof address !== "string" || !URL.canParse(address) || new URL(address).protocol !== "https:")
    throw new Error("the discovery document has no https address of keys");
  return address;
}
