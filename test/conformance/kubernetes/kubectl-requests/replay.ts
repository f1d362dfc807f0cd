// Sends recorded requests to a server, and makes answers of two servers comparable.
import type { Answer, Api, Json } from "../api.ts";
import type { Recorded } from "./record.ts";

/** An answer without what differs from run to run. */
export interface Normal {
  status: number;
  /** Absent where only the status is compared: documents about the server itself, and streams. */
  body?: Json;
}

/** Sends the requests of one command in order. */
export async function replay(api: Api, requests: Recorded[]): Promise<Normal[]> {
  const answers: Json[] = [];
  const normal: Normal[] = [];
  for (const request of requests) {
    const answer = await send(api, {
      ...request,
      path: filled(request.path, answers),
      ...(request.body && { body: filled(request.body, answers) }),
    });
    answers.push(answer.body);
    normal.push({ status: answer.status, ...(!isAboutServer(request) && { body: normalized(answer.body) }) });
  }
  return normal;
}

/** Values that the recorded server made up, as this one did. */
function filled(text: string, answers: Json[]): string {
  return text.replaceAll(/\$\{(\d+):([^}]+)\}/g, (_, index: string, path: string) =>
    String(path.split(".").reduce((value: Json, key) => value?.[key], answers[Number(index)]) ?? ""),
  );
}

async function send(api: Api, { method, path, headers, body }: Recorded): Promise<Answer> {
  // Bytes cannot be compared: who takes them also takes JSON.
  const accept = (headers["accept"] ?? "")
    .split(",")
    .filter((one) => !one.includes("protobuf"))
    .join(",");
  const sent = body?.startsWith("base64:") ? Buffer.from(body.slice("base64:".length), "base64") : body;
  if (/[?&]watch=(true|1)/.test(path)) return await opened(api, path);
  return await api.send(method as "GET", path, {
    headers: { ...headers, ...(accept && { accept }) },
    ...(sent && { body: sent }),
  });
}

/** Whether a stream opens. */
async function opened(api: Api, path: string): Promise<Answer> {
  const watch = await api.watch(path);
  watch.stop();
  return { status: watch.status, body: undefined, headers: {}, text: "" };
}

/** Other rows compare a server's discovery, key by key. */
function isAboutServer({ path }: Recorded): boolean {
  return (
    /^\/(openapi|version|healthz)/.test(path) ||
    /^\/apis?(\/[^/]+(\/[^/]+)?)?(\?|$)/.test(path) ||
    /[?&]watch=/.test(path) ||
    /\/events(\?|$)/.test(path)
  );
}

const MADE_UP = new Set([
  "resourceVersion",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "time",
  "continue",
  "token",
  "expirationTimestamp",
  "clusterIP",
  "clusterIPs",
  "selfLink",
]);

/** The same on any server at any time. What a column says of itself is prose: left out. */
export function normalized(value: Json): Json {
  if (Array.isArray(value)) return value.map(normalized);
  if (typeof value === "string") return withoutVolatileText(value);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([key, entry]) =>
        key === "description" && "priority" in value
          ? []
          : [[key, MADE_UP.has(key) ? "…" : ANY_ORDER.has(key) ? sorted(normalized(entry)) : normalized(entry)]],
      ),
  );
}

/** Entries of one second, and the rules of one user, come as they come. */
const ANY_ORDER = new Set(["managedFields", "resourceRules", "nonResourceRules"]);

const sorted = (list: Json): Json =>
  Array.isArray(list) ? list.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : list;

/** Ages in tables, and times within texts. */
function withoutVolatileText(text: string): string {
  return text
    .replace(/^\d+s$/, "…")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[-+]\d\d:\d\d)/g, "…")
    .replaceAll(/resourceVersion\\?":\\?"\d+/g, 'resourceVersion":"…')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "…")
    .replaceAll(/^10\.\d+\.\d+\.\d+$/g, "…");
}
