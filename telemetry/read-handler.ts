// Serves the merged logs and stats of a client, with the paths of the endpoint of one process (telemetry.ts), but for its writes.
import type { RequestListener, ServerResponse } from "node:http";
import type { Envelope } from "./envelope.ts";
import type { TelemetryClient } from "./telemetry-client.ts";
import { maxFollowerBacklog, parseTarget, sendJson, toLogQuery, toStatsQuery, type Target } from "./telemetry.ts";

/** Bytes of lines in one answer. A reader asks for those that are left out by its next query. */
export const MAX_BATCH_BYTES = 8 << 20;

/** The caller has been judged before. A read that fails is answered by 503. */
export function telemetryReadHandler(client: TelemetryClient): RequestListener {
  return (request, response) => {
    if (request.method !== "GET") return sendJson(response, 405, { error: "only GET is served here" });
    const target = parseTarget(request.url ?? "/");
    if (!target) return sendJson(response, 400, { error: "the path is not valid" });
    if (target.first === "logs" && target.last === "follow" && target.source)
      return void follow(client, target, response);
    answer(client, target).then(
      (body) => (body ? sendJson(response, 200, body) : sendJson(response, 404, { error: "no such path" })),
      (error: unknown) => sendJson(response, 503, { error: error instanceof Error ? error.message : "it failed" }),
    );
  };
}

async function answer(
  client: TelemetryClient,
  { url, first, source }: Target,
): Promise<Record<string, unknown> | undefined> {
  if (first === "stats") return { instances: await client.stats(toStatsQuery(url.searchParams)) };
  if (first === "meta") return { meta: await client.meta() };
  if (first !== "logs" || !source) return undefined;
  return { envelopes: { batch: cutToBytes(await client.readLogs(source, toLogQuery(url.searchParams))) } };
}

/** The first lines in the query's order, at least one. */
export function cutToBytes(batch: readonly Envelope[], maxBytes = MAX_BATCH_BYTES): readonly Envelope[] {
  let bytes = 0;
  const end = batch.findIndex((envelope, at) => {
    bytes += Buffer.byteLength(JSON.stringify(envelope)) + 1;
    return at > 0 && bytes > maxBytes;
  });
  return end < 0 ? batch : batch.slice(0, end);
}

async function follow(client: TelemetryClient, { url, source = "" }: Target, response: ServerResponse): Promise<void> {
  const abort = new AbortController();
  response.on("close", () => abort.abort());
  response.writeHead(200, { "content-type": "application/x-ndjson", "cache-control": "no-store" });
  response.flushHeaders();
  const { start } = toLogQuery(url.searchParams);
  for await (const envelope of client.followLogs(source, {
    ...(start !== undefined && { start }),
    signal: abort.signal,
  })) {
    response.write(`${JSON.stringify(envelope)}\n`);
    // The client reconnects and continues after its last line.
    if (response.writableLength > maxFollowerBacklog) response.destroy();
  }
}
