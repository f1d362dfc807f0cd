// A request to a service broker (Open Service Broker API 2.17): a deadline, a bound, no redirects, and no secret in an error.
import { randomUUID } from "node:crypto";
import { fetch, type Response } from "undici";
import { MAX_OPERATION_DESCRIPTION } from "../../../crds/service-instance/managed-fields.ts";
import { findJsonExcess } from "../../../kube/api/json-bounds.ts";
import { ADDRESS_FORBIDDEN, createGuardedAgent, OPEN_AGENT, type ConnectionRules } from "./broker-agent.ts";
import { brokerOperationOf, brokerReports } from "./broker-reports.ts";
import { toPlainWords } from "./plain-words.ts";

/** How a broker is reached. */
export interface BrokerAccess extends ConnectionRules {
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
  /** Where the broker reads how to log in at this platform. */
  apiInfo?: string;
  /** Bytes of the answer; `MAX_ANSWER_BYTES` unless given. */
  maxBytes?: number;
}

export type BrokerAnswer =
  /** `body` is undefined when the answer is no JSON object; its description is fit to be shown. */
  | {
      kind: "answer";
      status: number;
      body: Record<string, unknown> | undefined;
      /** As it came, fit to be shown. Not that of a success, which may have credentials. */
      text?: string;
      retryAfterSeconds?: number;
    }
  /** No connection: the broker has not seen the request. */
  | { kind: "unreachable"; why: string }
  /** The broker may have done what it was asked. */
  | { kind: "lost"; why: string };

export const OSB_VERSION = "2.17";
const DEADLINE_MS = 60_000;
/** A binding's credentials are most of it, which may have keystores; their Secret has them twice, and has room for 1 MiB. */
export const MAX_ANSWER_BYTES = 256 * 1024;
/** Beyond these JSON takes a parser too long. */
const JSON_BOUNDS = { values: 50_000, depth: 100, members: 10_000 };
const MAX_RETRY_SECONDS = 86_400;
const NO_CONNECTION = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "EPROTO",
  "ERR_SSL_WRONG_VERSION_NUMBER",
]);
/** Certificates and protocols that TLS refuses before anything is sent. */
const NO_HANDSHAKE =
  /^(CERT_|ERR_TLS_CERT_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|UNABLE_TO_(VERIFY|GET)_|ERR_SSL_\w*(ALERT_HANDSHAKE_FAILURE|ALERT_PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL)$)/;
const UNKNOWN_AUTHORITY = /^(DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|UNABLE_TO_(VERIFY|GET)_)/;
const NOT_OPEN =
  "its address is not open to brokers of spaces; an operator opens it by broker-egress-cidrs in ConfigMap cupola-network";
/** Part of Node.js's message: the error's code is that of any broken connection. */
const NOT_SECURE_YET = "before secure TLS connection was established";

/** Never throws but for an aborted `signal`. */
export async function callBroker(
  access: BrokerAccess,
  request: BrokerRequest,
  signal: AbortSignal,
): Promise<BrokerAnswer> {
  const guarded = access.mayConnect || access.ca !== undefined ? createGuardedAgent(access) : undefined;
  const report = brokerReports.begin(() => brokerOperationOf(request));
  try {
    const response = await fetch(`${access.url}${request.path}`, {
      dispatcher: guarded ?? OPEN_AGENT,
      method: request.method,
      headers: toHeaders(access, request),
      ...(request.body && { body: JSON.stringify(request.body) }),
      // Another host must not get the credentials.
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]),
    });
    const answer = await readAnswer(response, request.maxBytes ?? MAX_ANSWER_BYTES);
    report(answer.kind === "answer" ? answer.status : 0);
    return answer;
  } catch (error) {
    signal.throwIfAborted();
    report(0);
    return toFailure(error);
  } finally {
    await guarded?.destroy();
  }
}

function toHeaders(
  { username, password }: BrokerAccess,
  { body, user, apiInfo }: BrokerRequest,
): Record<string, string> {
  return {
    authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`,
    "x-broker-api-version": OSB_VERSION,
    // By which people find the request in the logs of both.
    "x-broker-api-request-identity": randomUUID(),
    ...(apiInfo !== undefined && { "x-api-info-location": apiInfo }),
    accept: "application/json",
    "accept-encoding": "identity",
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
  return toAnswer(response, Buffer.concat(chunks));
}

function toAnswer({ ok, status, headers }: Response, bytes: Buffer): BrokerAnswer {
  const text = bytes.toString("utf8");
  const excess = findJsonExcess(text, JSON_BOUNDS);
  if (excess !== undefined) return { kind: "lost", why: `its answer has ${excess}` };
  const retryAfter = Number(headers.get("retry-after") ?? NaN);
  return {
    kind: "answer",
    status,
    body: withPlainWords(parseObject(text)),
    ...(!ok && { text: toPlainWords(text, MAX_OPERATION_DESCRIPTION) }),
    ...(retryAfter > 0 && { retryAfterSeconds: Math.min(retryAfter, MAX_RETRY_SECONDS) }),
  };
}

/** The body as people are shown it. */
function withPlainWords(body: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  if (!body) return undefined;
  const words = ["description", "error", "dashboard_url"].flatMap((name) => {
    const text = body[name];
    return typeof text === "string" ? [[name, toPlainWords(text, MAX_OPERATION_DESCRIPTION)]] : [];
  });
  return { ...body, ...(Object.fromEntries(words) as Record<string, string>) };
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
  const { code, message = "" } = ((error as Error).cause ?? {}) as { code?: string; message?: string };
  if (code === ADDRESS_FORBIDDEN) return { kind: "unreachable", why: NOT_OPEN };
  if (code && isUnsent(code, message)) return { kind: "unreachable", why: toUnsentReason(code) };
  const isTimeout = (error as Error).name === "TimeoutError";
  return {
    kind: "lost",
    why: isTimeout ? `no answer within ${DEADLINE_MS / 1000} s` : (code ?? "the connection broke"),
  };
}

function toUnsentReason(code: string): string {
  return UNKNOWN_AUTHORITY.test(code) ? `${code}: put the certificate of its authority into spec.caBundle` : code;
}

/** Had the broker no chance to see the request? */
function isUnsent(code: string, message: string): boolean {
  return NO_CONNECTION.has(code) || NO_HANDSHAKE.test(code) || message.includes(NOT_SECURE_YET);
}
