// A watch as a stream of JSON lines: with a bookmark each minute, a time limit, and a cut-off for clients that do not read.
import type { ServerResponse } from "node:http";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { VersionType } from "../registry/types.ts";
import type { Watch, WatchType } from "../registry/watch.ts";
import { jsonOf } from "../storage/store.ts";
import { partialOf, tableOf } from "./table.ts";

const BOOKMARK_MS = 60_000;
const BEFORE_END_S = 2;
const SHORTEST_S = 1_800;
/** Timers take no more than about 24 days. */
const LONGEST_S = 86_400;
/** How long a client may take to read the rest of a watch that is over. */
const DRAIN_MS = 30_000;
/** A client this far behind is cut off and resumes from its last version. Initial events do not count: they are as bounded as a list. */
const BACKLOG_LIMIT = 16 * 1024 * 1024;

export interface StreamOptions {
  version: VersionType;
  /** `Table` or `PartialObjectMetadata`, as asked for. */
  as?: string;
  include: string;
  /** 0 = the server's choice. */
  timeoutSeconds: number;
}

/** An event as a line. */
function lineWriter({ version, as, include }: StreamOptions): (type: WatchType, object: KubeObject) => string {
  let withColumns = true;
  const render = (type: WatchType, object: KubeObject): string => {
    if (as === "Table") {
      const text = tableOf(
        version,
        [object],
        { resourceVersion: object.metadata.resourceVersion },
        { withColumns, include },
      );
      withColumns = false;
      return text;
    }
    if (as) return partialOf(object);
    // Bookmarks are made for one line; the text of the others is kept.
    return type === "BOOKMARK" ? JSON.stringify(object) : jsonOf(object);
  };
  return (type, object) => `{"type":"${type}","object":${render(type, object)}}\n`;
}

function sendHead(response: ServerResponse): void {
  response.writeHead(200, {
    "content-type": "application/json",
    "cache-control": "no-cache, private",
    "transfer-encoding": "chunked",
  });
  response.flushHeaders();
}

function secondsOf({ timeoutSeconds }: StreamOptions): number {
  return timeoutSeconds > 0 ? Math.min(timeoutSeconds, LONGEST_S) : SHORTEST_S + Math.floor(Math.random() * SHORTEST_S);
}

/** Sends bookmarks regularly and once before the end, so that the client resumes from there. Returns a function that stops them. */
function startBookmarks(send: () => void, seconds: number): () => void {
  const interval = setInterval(send, BOOKMARK_MS).unref();
  const last = seconds > BEFORE_END_S ? setTimeout(send, (seconds - BEFORE_END_S) * 1_000).unref() : undefined;
  return () => {
    clearInterval(interval);
    clearTimeout(last);
  };
}

/** Streams until the client leaves, the time is over, or `stopped` aborts. */
export function streamWatch(
  response: ServerResponse,
  watch: Watch,
  options: StreamOptions,
  stopped: AbortSignal,
): void {
  sendHead(response);
  if (watch.failure) {
    response.end(`{"type":"ERROR","object":${JSON.stringify(watch.failure)}}\n`);
    return;
  }
  const line = lineWriter(options);
  let isLive = false;
  const send = (type: WatchType, object: KubeObject) => {
    // Between its end and its close a stream still gets changes; a write then would be an uncaught error.
    if (response.writableEnded || response.destroyed) return;
    if (isLive && response.writableLength > BACKLOG_LIMIT) response.destroy();
    else response.write(line(type, object));
  };

  response.cork();
  const unsubscribe = watch.start(send);
  response.uncork();
  isLive = true;
  const seconds = secondsOf(options);
  const stopBookmarks = watch.bookmarks ? startBookmarks(() => send("BOOKMARK", watch.bookmark()), seconds) : undefined;
  let drained: NodeJS.Timeout | undefined;
  const end = () => {
    response.end();
    drained ??= setTimeout(() => response.destroy(), DRAIN_MS).unref();
  };
  const deadline = setTimeout(end, seconds * 1_000).unref();
  stopped.addEventListener("abort", end);
  response.on("close", () => {
    unsubscribe();
    stopBookmarks?.();
    clearTimeout(deadline);
    clearTimeout(drained);
    stopped.removeEventListener("abort", end);
  });
}
