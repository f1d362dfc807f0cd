// One request to a service broker (Open Service Broker API 2.17): a deadline, a bound, no redirects, and no secret in an error.
import { fetch, type Response } from "undici";

/** How a broker is reached. */
export interface BrokerAccess {
  /** Without a trailing slash. */
  url: string;
  username: string;
  password: string;
}

export interface BrokerRequest {
  method: "GET" | "PUT" | "PATCH" | "DELETE";
  /** Below the broker's address, with its query. */
  path: string;
  body?: object;
  /** GUID of the user on whose behalf it is, as far as that is known. */
  user?: string | undefined;
  /** Bytes of the answer; `MAX_ANSWER_BYTES` unless given. */
  maxBytes?: number;
}

export type BrokerAnswer =
  /** `body` is undefined when the answer is no JSON object. */
  | { kind: "answer"; status: number; body: Record<string, unknown> | undefined; retryAfterSeconds?: number }
  /** No connection: the broker has not seen the request. */
  | { kind: "unreachable"; why: string }
  /** The broker may have done what it was asked. */
  | { kind: "lost"; why: string };

export const OSB_VERSION = "2.17";
const DEADLINE_MS = 60_000;
/** A binding's credentials are most of it. */
export const MAX_ANSWER_BYTES = 32 * 1024;
const NO_CONNECTION = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

/** Never throws but for an aborted `signal`. */
export async function callBroker(
  access: BrokerAccess,
  request: BrokerRequest,
  signal: AbortSignal,
): Promise<BrokerAnswer> {
  try {
    const response = await fetch(`${access.url}${request.path}`, {
      method: request.method,
      headers: toHeaders(access, request),
      ...(request.body && { body: JSON.stringify(request.body) }),
      // Another host must not get the credentials.
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]),
    });
    return await readAnswer(response, request.maxBytes ?? MAX_ANSWER_BYTES);
  } catch (error) {
    signal.throwIfAborted();
    return toFailure(error);
  }
}

function toHeaders({ username, password }: BrokerAccess, { body, user }: BrokerRequest): Record<string, string> {
  return {
    authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`,
    "x-broker-api-version": OSB_VERSION,
    accept: "application/json",
    ...(body && { "content-type": "application/json" }),
    ...(user !== undefined && {
      "x-broker-api-originating-identity": `cloudfoundry ${Buffer.from(JSON.stringify({ user_id: user })).toString("base64")}`,
    }),
  };
}

async function readAnswer(response: Response, maxBytes: number): Promise<BrokerAnswer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    const part = chunk as Uint8Array;
    bytes += part.byteLength;
    if (bytes > maxBytes) return { kind: "lost", why: `its answer has more than ${maxBytes} bytes` };
    chunks.push(part);
  }
  const retryAfter = Number(response.headers.get("retry-after") ?? NaN);
  return {
    kind: "answer",
    status: response.status,
    body: parseObject(Buffer.concat(chunks).toString("utf8")),
    ...(retryAfter > 0 && { retryAfterSeconds: retryAfter }),
  };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined; // the caller says that the answer is no JSON
  }
}

/** By code only: messages of errors may have addresses with more than a host. */
function toFailure(error: unknown): BrokerAnswer {
  const { code } = ((error as Error).cause ?? {}) as { code?: string };
  if (code && NO_CONNECTION.has(code)) return { kind: "unreachable", why: code };
  const isTimeout = (error as Error).name === "TimeoutError";
  return {
    kind: "lost",
    why: isTimeout ? `no answer within ${DEADLINE_MS / 1000} s` : (code ?? "the connection broke"),
  };
}
