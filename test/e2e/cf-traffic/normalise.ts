// Recorded exchanges as templates: what differs from run to run gets a name, what nobody can repeat is dropped, nothing secret stays.
import type { Exchange } from "../support/recording-proxy.ts";
import { ANY, IN_ANY_ORDER } from "./match.ts";
import { readForm } from "./form.ts";
import type { RecordedAnswer, RecordedExchange, RecordedRequest, Template } from "./traffic.ts";

const KEPT_HEADERS = ["content-type", "location", "x-cf-warnings"];
/** A process's revision: made a moment after the start that it answers. */
const REVISION = /"revision":(?:null|\{"data":\{"guid":"[^"]*"\}\})/g;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Makes templates of the commands of one recording; names go on from one to the next. `url` is what the client took for the API, `folder` where the source lies. */
export function normaliser({
  url,
  folder,
}: {
  url: string;
  folder: string;
}): (exchanges: readonly Exchange[]) => RecordedExchange[] {
  const toTemplates = exchangeNormaliser({ url, folder });
  return (exchanges) => withoutPolls(exchanges.map(toTemplates));
}

/** As `normaliser`, of one exchange after the other; polls are kept. */
export function exchangeNormaliser({
  url,
  folder,
}: {
  url: string;
  folder: string;
}): (exchange: Exchange) => RecordedExchange {
  const namer = newNamer(url);
  const name = (text: string): string => namer.name(text.replaceAll(folder, "/source"));
  return (exchange) => {
    if (exchange.headers.location) namer.beginJob(exchange.headers.location);
    return toRecorded(exchange, name);
  };
}

interface Namer {
  /** Replaces in a text; the same value gets the same name. */
  name(text: string): string;
  /** The job of this location begins now: two of one second have one GUID, and are two all the same. */
  beginJob(location: string): void;
}

const JOB = /\/v3\/jobs\/([^/?"\s]+)/g;

function newNamer(url: string): Namer {
  const names = new Map<string, string>();
  const counts = { guid: 0, job: 0 };
  const named = (kind: keyof typeof counts, value: string): string => {
    const known = names.get(value) ?? `<${kind}-${++counts[kind]}>`;
    names.set(value, known);
    return known;
  };
  return {
    beginJob(location) {
      for (const [, job] of location.matchAll(JOB)) if (job) names.delete(job);
    },
    name(text) {
      for (const [, job] of text.matchAll(JOB)) if (job) named("job", job);
      const jobs = [...names].filter(([, as]) => as.startsWith("<job"));
      return jobs
        .reduce((sofar, [job, as]) => sofar.replaceAll(job, as), text)
        .replaceAll(url, "<url>")
        .replaceAll(UUID, (guid) => named("guid", guid))
        .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "<time>")
        .replaceAll(/\b[0-9a-f]{64}\b/g, "<sha256>");
    },
  };
}

function toRecorded(exchange: Exchange, name: (text: string) => string): RecordedExchange {
  return { request: toRequest(exchange, name), answer: toAnswer(exchange, name) };
}

function toRequest(
  { method, path, requestHeaders, requestBody }: Exchange,
  name: (text: string) => string,
): RecordedRequest {
  const contentType = requestHeaders["content-type"];
  const common = { method, path: name(path).replaceAll(/((?:start|end)_time=)\d{16,20}/g, "$1<nanos>") };
  if (requestBody.length === 0) return common;
  if (contentType?.startsWith("multipart/")) return { ...common, form: readForm(contentType, requestBody) };
  return { ...common, ...(contentType && { contentType }), body: toTemplate(name(requestBody.toString())) };
}

function toAnswer({ path, status, headers, body }: Exchange, name: (text: string) => string): RecordedAnswer {
  const kept = Object.fromEntries(
    KEPT_HEADERS.flatMap((header) => (headers[header] ? [[header, name(String(headers[header]))]] : [])),
  );
  return {
    status,
    headers: kept,
    body: mask(path, toTemplate(name(body.toString()).replaceAll(REVISION, `"revision":"${ANY}"`))),
  };
}

function toTemplate(text: string): Template {
  try {
    return JSON.parse(text) as Template;
  } catch {
    return text; // YAML, and empty bodies
  }
}

interface Stat {
  readonly [field: string]: Template;
}

/** Values that change by themselves or depend on the machine. */
function mask(path: string, body: Template): Template {
  if (path.startsWith("/api/v1/read/")) return maskLog(body);
  if (path === "/api/v1/info") return { ...(body as object), vm_uptime: "<number>" };
  if (path.startsWith("/v3/processes?")) return maskProcesses(body);
  if (!/\/stats(\?|$)/.test(path)) return body;
  const { resources } = body as { resources?: readonly Stat[] };
  if (!resources) return body;
  // Half started: a moment that no other run shows again.
  if (resources.some(({ state }) => state === "STARTING")) return ANY;
  // A restart shows the old instance or the new one first, as the machine has time.
  const moving = { uptime: "<number>", usage: ANY, instance_ports: ANY, instance_guid: ANY };
  return {
    ...(body as object),
    resources: resources.map((stat) => ({
      ...stat,
      ...Object.fromEntries(Object.entries(moving).filter(([field]) => stat[field] !== undefined)),
    })),
  };
}

/** Processes of one second are in the order of their GUIDs, some of which are random. */
function maskProcesses(body: Template): Template {
  const { resources = [] } = body as { resources?: readonly Stat[] };
  const instances = (stats: Template | undefined): object =>
    Array.isArray(stats)
      ? { process_instances: (stats as readonly Stat[]).map((stat) => ({ ...stat, since: "<number>" })) }
      : {};
  return {
    ...(body as object),
    resources: {
      [IN_ANY_ORDER]: resources.map((process) => ({ ...process, ...instances(process["process_instances"]) })),
    },
  };
}

/** Which lines there are is a matter of time; that the answer is a batch is not. */
function maskLog(body: Template): Template {
  return typeof body === "object" && body !== null && "envelopes" in body ? { envelopes: { batch: ANY } } : body;
}

/** Keeps only the last answer of a repeated question; a log that is followed is one question. */
function withoutPolls(exchanges: readonly RecordedExchange[]): RecordedExchange[] {
  const isLog = ({ request }: RecordedExchange): boolean => request.path.startsWith("/api/v1/read/");
  const logs = exchanges.filter(isLog).slice(0, 1);
  const others = exchanges.filter((exchange) => !isLog(exchange));
  return [...others.filter((exchange, at) => !isSameRequest(exchange, others[at + 1])), ...logs];
}

function isSameRequest({ request }: RecordedExchange, next: RecordedExchange | undefined): boolean {
  return request.method === "GET" && next?.request.method === "GET" && request.path === next.request.path;
}
