// Calls one webhook: over TLS to its address, within its time, its answer bounded and checked.
import { LRUCache } from "lru-cache";
import { Agent, request as send } from "undici";
import { badRequest } from "../../status.ts";
import type { AdmissionRequest } from "../../types.ts";
import { CallFault, type Hook, type Invocation } from "./hooks.ts";
import { readAnswer, reviewOf, type Answer } from "./review.ts";

const ANSWER_LIMIT = 4 * 1024 * 1024;
const SHOWN_LIMIT = 200;
const DEFAULT_SECONDS = 10;
const MOST_AGENTS = 50;
const WITHOUT_EFFECTS = ["None", "NoneOnDryRun"];

export interface Caller {
  /** Asks a webhook. Throws CallFault when it cannot be asked, StatusError 400 when it may not be. @param original the request as the client made it. */
  call(invocation: Invocation, original: AdmissionRequest, mutating: boolean): Promise<Answer>;
  stop(): Promise<void>;
}

/** Connections are kept, one pool for each authority. */
export function createCaller(newUid: () => string): Caller {
  const agents = new LRUCache<string, Agent>({ max: MOST_AGENTS, dispose: (agent) => void agent.close() });
  const agentOf = (caBundle = "") => {
    const known = agents.get(caBundle);
    if (known) return known;
    const agent = new Agent({
      allowH2: false,
      connections: 32,
      connect: caBundle ? { ca: Buffer.from(caBundle, "base64").toString("utf8") } : {},
    });
    agents.set(caBundle, agent);
    return agent;
  };
  return {
    async call({ hook, request }, original, mutating) {
      const { name, clientConfig, sideEffects = "Unknown" } = hook.webhook;
      if (request.dryRun && !WITHOUT_EFFECTS.includes(sideEffects))
        throw badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`);
      const uid = newUid();
      const body = JSON.stringify(reviewOf(uid, request, original));
      const text = await post(hook, { address: addressOf(hook), body, agent: agentOf(clientConfig.caBundle) });
      try {
        return readAnswer(parsed(text), { uid, hook: name, mutating });
      } catch (cause) {
        throw new CallFault(name, (cause as Error).message, { cause });
      }
    },
    stop: async () => void (await Promise.all([...agents.values()].map((agent) => agent.destroy()))),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(
      `failed to call webhook: couldn't get version/kind; json parse error: ${(cause as Error).message}`,
      { cause },
    );
  }
}

const secondsOf = ({ webhook }: Hook) => webhook.timeoutSeconds ?? DEFAULT_SECONDS;

/** Nothing here answers for a Service: no pod runs on this server. */
function addressOf(hook: Hook): string {
  const {
    name,
    clientConfig: { url, service },
  } = hook.webhook;
  const query = `?timeout=${secondsOf(hook)}s`;
  if (url) return url + query;
  if (!service) throw new CallFault(name, "webhook configuration must have either service or URL");
  const address = `https://${service.name}.${service.namespace}.svc:${service.port ?? 443}${service.path ?? ""}${query}`;
  throw new CallFault(
    name,
    `failed to call webhook: Post ${JSON.stringify(address)}: service ${JSON.stringify(service.name)} not found`,
  );
}

interface Post {
  address: string;
  body: string;
  agent: Agent;
}

async function post(hook: Hook, { address, body, agent }: Post): Promise<string> {
  const fault = (reason: string, cause?: unknown) =>
    new CallFault(hook.webhook.name, `failed to call webhook: ${reason}`, { cause });
  let answer: { code: number; text: string };
  try {
    answer = await exchange(address, { body, agent, deadline: AbortSignal.timeout(secondsOf(hook) * 1_000) });
  } catch (cause) {
    throw fault(`Post ${JSON.stringify(address)}: ${wordsOf(cause)}`, cause);
  }
  if (answer.code >= 200 && answer.code < 300) return answer.text;
  throw fault(refusedWords(answer));
}

async function exchange(
  address: string,
  { body, agent, deadline }: { body: string; agent: Agent; deadline: AbortSignal },
): Promise<{ code: number; text: string }> {
  const response = await send(address, {
    method: "POST",
    body,
    dispatcher: agent,
    signal: deadline,
    headers: {
      "content-type": "application/json",
      accept: "application/json, */*",
      "user-agent": "kube-apiserver-admission",
    },
  });
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > ANSWER_LIMIT) throw new Error(`the answer is longer than ${ANSWER_LIMIT} bytes`);
    chunks.push(chunk);
  }
  return { code: response.statusCode, text: Buffer.concat(chunks).toString("utf8") };
}

const WORDS: Record<string, string> = {
  ECONNRESET: "connection reset by peer",
  DEPTH_ZERO_SELF_SIGNED_CERT: "tls: failed to verify certificate: x509: certificate signed by unknown authority",
  SELF_SIGNED_CERT_IN_CHAIN: "tls: failed to verify certificate: x509: certificate signed by unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "tls: failed to verify certificate: x509: certificate signed by unknown authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "tls: failed to verify certificate: x509: certificate signed by unknown authority",
};

/** Go's words for the faults that people look up. */
function wordsOf(error: unknown): string {
  const { name, code, message, address, port } = error as Error & { code?: string; address?: string; port?: number };
  if (name === "TimeoutError") return "context deadline exceeded";
  if (code === "ECONNREFUSED") return `dial tcp ${address ?? ""}:${port ?? ""}: connect: connection refused`;
  return WORDS[code ?? ""] ?? message;
}

function refusedWords({ code, text }: { code: number; text: string }): string {
  if (code === 404) return "the server could not find the requested resource";
  if (code >= 500)
    return `an error on the server (${JSON.stringify(text.slice(0, SHOWN_LIMIT).trim() || "unknown")}) has prevented the request from succeeding`;
  return "the server rejected our request for an unknown reason";
}
