// The public keys of a token issuer, by OpenID Connect discovery: fetched when needed, kept for minutes, with a deadline and a bound on size.
import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from "jose";
import { Agent, request } from "undici";

/** The issuer did not give its keys, so nothing is known of a token. */
export class KeysUnavailable extends Error {}

/** A key that the issuer withdrew counts no longer than this. Milliseconds. */
const KEYS_TTL_MS = 5 * 60_000;
/** An unknown key is looked for no more often than this. Milliseconds. */
const COOLDOWN_MS = 5_000;
const DEADLINE_MS = 5_000;
const MAX_BYTES = 1024 * 1024;
/** What a token may do wrong at the choice of a key; anything else is the issuer's doing. */
const TOKEN_ERRORS = new Set(["ERR_JWKS_NO_MATCHING_KEY", "ERR_JWKS_MULTIPLE_MATCHING_KEYS", "ERR_JOSE_NOT_SUPPORTED"]);

/** Chooses the key of a token. It throws NoKeys, or a JOSEError when the token names no key of the issuer's. `ca` is PEM. */
export function createIssuerKeys(issuer: string, ca: string | undefined): JWTVerifyGetKey {
  // No connection is kept: it would be used once in minutes.
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
    // Discovery each time, so that a new address of the keys is followed.
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

/** @throws Error when the document is another issuer's, or keys would come over a connection that anybody may change */
function getJwksUri(document: unknown, issuer: string): string {
  const { issuer: said, jwks_uri: address } = (document ?? {}) as { issuer?: unknown; jwks_uri?: unknown };
  if (said !== issuer) throw new Error("the discovery document is of another issuer");
  if (typeof address !== "string" || !URL.canParse(address) || new URL(address).protocol !== "https:")
    throw new Error("the discovery document has no https address of keys");
  return address;
}
