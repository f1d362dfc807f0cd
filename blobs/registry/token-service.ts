// Fetches a bearer token from the service that a registry's challenge names.
import { setTimeout as delay } from "node:timers/promises";
import { parseJson } from "../../kube/api/parse-json.ts";
import { toBasic, type RegistryCredentials } from "./docker-config.ts";
import { sendRequest, type Connections } from "./http-request.ts";
import { readBody } from "./read-body.ts";
import { RegistryError } from "./registry-error.ts";
import { retryDelay } from "./retry-delay.ts";

export interface TokenRequest {
  connections: Connections;
  realm: URL;
  service: string | undefined;
  scopes: readonly string[];
  credentials: RegistryCredentials | undefined;
  /** The registry, for messages. */
  host: string;
}

const DEADLINE_MS = 10_000;
const MAX_BYTES = 256 * 1024;
/** Lifetime that the specification gives an answer without `expires_in`. */
const DEFAULT_LIFE_S = 60;
const MAX_LIFE_S = 3600;

/** @throws RegistryError: 401 when the service refuses the credentials, 0 when it does not answer */
export async function fetchToken(options: TokenRequest): Promise<{ token: string; lifeMs: number }> {
  for (let failures = 1; ; failures++) {
    try {
      return await fetchOnce(options);
    } catch (error) {
      if (!(error instanceof RegistryError)) throw error;
      const pause = retryDelay(
        { failures, status: error.status, retryAfter: error.retryAfter },
        Date.now(),
        Math.random(),
      );
      // Its status is not the registry's: the caller does not try all of it again.
      if (pause === undefined) throw new RegistryError(error.message, { status: 401, cause: error.cause });
      await delay(pause);
    }
  }
}

async function fetchOnce(options: TokenRequest): Promise<{ token: string; lifeMs: number }> {
  const { realm, host } = options;
  const who = `the token service ${realm.host} of the registry ${host}`;
  const { statusCode, headers, text } = await send(options).catch((cause: unknown) => {
    const { code = "no answer" } = cause as NodeJS.ErrnoException;
    throw new RegistryError(`${who} cannot be reached: ${code}`, { cause });
  });
  if (statusCode !== 200) {
    const why = statusCode === 401 || statusCode === 403 ? "refuses the credentials" : `answers ${statusCode}`;
    const retryAfter = headers["retry-after"];
    throw new RegistryError(`${who} ${why}`, {
      status: statusCode,
      ...(typeof retryAfter === "string" && { retryAfter }),
    });
  }
  return readToken(text, who);
}

async function send(options: TokenRequest) {
  const { credentials, realm } = options;
  const { url, ...init } =
    credentials !== undefined && "identityToken" in credentials
      ? toForm(realm, options, credentials.identityToken)
      : toQuery(realm, options);
  const answer = await sendRequest(url, {
    ...init,
    headers: { "user-agent": "cupola", ...init.headers },
    connections: options.connections,
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  const { statusCode, headers } = answer;
  return { statusCode, headers, text: (await readBody(answer, MAX_BYTES, DEADLINE_MS)).toString("utf8") };
}

interface TokenCall {
  url: URL;
  method: "GET" | "POST";
  headers: Record<string, string>;
  body?: string;
}

/** Docker's way: the scopes in the query, credentials by Basic. */
function toQuery(realm: URL, { service, scopes, credentials }: TokenRequest): TokenCall {
  const url = new URL(realm);
  if (service !== undefined) url.searchParams.set("service", service);
  for (const scope of scopes) url.searchParams.append("scope", scope);
  const authorization = credentials && toBasic(credentials);
  return { url, method: "GET", headers: authorization === undefined ? {} : { authorization } };
}

/** OAuth2's way, for a refresh token. */
function toForm(realm: URL, { service, scopes }: TokenRequest, refreshToken: string): TokenCall {
  const form = new URLSearchParams({
    grant_type: "refresh_token",
    client_id: "cupola",
    scope: scopes.join(" "),
    refresh_token: refreshToken,
    ...(service !== undefined && { service }),
  });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return { url: realm, method: "POST", headers, body: form.toString() };
}

function readToken(text: string, who: string): { token: string; lifeMs: number } {
  const answer = toRecord(text);
  const token = answer["token"] ?? answer["access_token"];
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token))
    throw new RegistryError(`${who} answers without a token`, { status: 400 });
  const { expires_in: seconds } = answer;
  const life = typeof seconds === "number" && seconds > 0 ? Math.min(seconds, MAX_LIFE_S) : DEFAULT_LIFE_S;
  return { token, lifeMs: life * 1000 };
}

function toRecord(text: string): Record<string, unknown> {
  try {
    const value = parseJson(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {}; // said by the caller as an answer without a token
  }
}
