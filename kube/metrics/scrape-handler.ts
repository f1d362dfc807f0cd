// Answers `GET /metrics` to callers that the API server knows and allows: TokenReview, then SubjectAccessReview on the path, as controller-runtime does.
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import { SubjectAccessReview, TokenReview } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import type { Metrics } from "./metrics.ts";

/** The `nonResourceURL` that a ClusterRole must allow, with the verb `get`. */
export const METRICS_PATH = "/metrics";
/** Takes the token, too: an API server keeps `Authorization` for itself when it passes a request on to a pod. */
export const METRICS_AUTHORIZATION = "x-metrics-authorization";
const DEADLINE_MS = 10_000;
/** A scraper comes every 15 to 60 s with the same token. A revoked one is refused after this. */
const REMEMBERED = { max: 100, ttl: 60_000 };

type Verdict = 200 | 401 | 403;

/** A verdict is remembered for a minute, a failed review is not. `metrics` is only asked for callers that may read it. */
export function createScrapeHandler({
  client,
  metrics,
  log,
}: {
  client: KubeClient;
  metrics: Metrics;
  log: Logger;
}): RequestListener {
  const verdicts = new LRUCache<string, Verdict>(REMEMBERED);
  const judge = async (token: string): Promise<Verdict> => {
    const digest = createHash("sha256").update(token).digest("base64");
    const verdict = verdicts.get(digest) ?? (await review(client, token));
    verdicts.set(digest, verdict, { noUpdateTTL: true });
    return verdict;
  };
  return (request, response) =>
    void answer(request, response, { judge, metrics }).catch((err: unknown) => {
      log.warn({ err }, "a scrape of the metrics failed");
      send(response, 503, "the metrics cannot be read now; see the log");
    });
}

async function answer(
  { method, url = "", headers }: IncomingMessage,
  response: ServerResponse,
  { judge, metrics }: { judge: (token: string) => Promise<Verdict>; metrics: Metrics },
): Promise<void> {
  if (url.split("?", 1)[0] !== METRICS_PATH) return send(response, 404, `only ${METRICS_PATH} is here`);
  if (method !== "GET" && method !== "HEAD") return send(response, 405, `${METRICS_PATH} is read with GET`);
  const token = tokenIn(headers);
  const verdict = token === undefined ? 401 : await judge(token);
  if (verdict === 401) return send(response, 401, "a token of this cluster is needed: Authorization: Bearer TOKEN");
  if (verdict === 403)
    return send(response, 403, `the caller needs a ClusterRole that allows get on the nonResourceURL ${METRICS_PATH}`);
  send(response, 200, await metrics.scrape(), metrics.contentType);
}

function tokenIn(headers: IncomingHttpHeaders): string | undefined {
  const given = headers[METRICS_AUTHORIZATION] ?? headers.authorization;
  return /^Bearer (\S+)$/i.exec(String(given ?? ""))?.[1];
}

async function review(client: KubeClient, token: string): Promise<Verdict> {
  const options = { deadlineMs: DEADLINE_MS };
  const { status } = await client.review(TokenReview, { spec: { token } }, options);
  if (!status?.authenticated || !status.user) return 401;
  const { username = "", uid, groups, extra } = status.user;
  const spec = {
    user: username,
    ...(uid !== undefined && { uid }),
    ...(groups && { groups }),
    ...(extra && { extra }),
    nonResourceAttributes: { path: METRICS_PATH, verb: "get" },
  };
  const judged = await client.review(SubjectAccessReview, { spec }, options);
  return judged.status?.allowed ? 200 : 403;
}

function send(response: ServerResponse, code: number, text: string, contentType = "text/plain; charset=utf-8"): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(code, {
    "content-type": contentType,
    ...(code === 401 && { "www-authenticate": "Bearer" }),
    ...(code === 405 && { allow: "GET, HEAD" }),
  });
  response.end(text.endsWith("\n") ? text : `${text}\n`);
}
