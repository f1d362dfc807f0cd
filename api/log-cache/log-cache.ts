// The Log Cache HTTP API that `cf logs` and metrics plugins read. Lines come from the telemetry endpoints that backend classes publish.
import { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { type AnyEnvelope, maxReadLimit } from "../../telemetry/envelope.ts";
import { parseNameFilter } from "../../telemetry/name-filter.ts";
import { mergeEnvelopes } from "../../telemetry/telemetry-client.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import type { Session } from "../access/session.ts";
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { CFError, notFound, unavailable, unprocessable } from "../http/errors.ts";
import { rawQuery } from "../http/query.ts";
import type { Services } from "../routing/services.ts";
import { readGauges } from "./gauges.ts";
import { toLogQuery } from "./query.ts";

const logs = { verb: "get", on: App, subresource: "logs" } as const;
const anyQuery = z.object({});

function canReadLogs(session: Session, { metadata: { name, namespace = "" } }: App): boolean {
  return session.allows({ ...logs, namespace, name });
}

/** The lines and metrics that the query asks for. @throws CFError 400, 404, 503 */
async function read(session: Session, services: Services, source: string, url: string): Promise<AnyEnvelope[]> {
  const app = session.find(App, source);
  if (!app || !canReadLogs(session, app)) throw notFound("App");
  const query = toLogQuery(url);
  const filter = parseNameFilter(rawQuery(url)["name_filter"] ?? "");
  if (!filter) throw new CFError("BadQueryParameter", "Name filter must be a valid, short regular expression");
  try {
    const batches = await readBatches(session.cache, services, app, query);
    return mergeEnvelopes<AnyEnvelope>(batches, query).flatMap((envelope) => filter(envelope) ?? []);
  } catch (cause) {
    throw unavailable("The logs cannot be read now. Try again.", { cause });
  }
}

/** Lines and metrics, each in the query's order. Without types the query asks for all. */
function readBatches(
  cache: ClusterCache,
  services: Services,
  app: App,
  query: ReturnType<typeof toLogQuery>,
): Promise<AnyEnvelope[][]> {
  const asksFor = (type: "LOG" | "GAUGE"): boolean => query.types.length === 0 || query.types.includes(type);
  const guid = cache.guid(App, app);
  return Promise.all([
    asksFor("LOG") ? services.telemetry.readLogs(guid, query) : [],
    asksFor("GAUGE") ? readGauges(cache, services, { object: app, guid }, query) : [],
  ]);
}

/** Counts and times of the sources that the caller may read. */
async function readMeta(session: Session, { telemetry }: Services): Promise<object> {
  try {
    const meta = await telemetry.meta();
    const isVisible = (source: string): boolean => {
      const app = session.find(App, source);
      return app !== undefined && canReadLogs(session, app);
    };
    return Object.fromEntries(Object.entries(meta).filter(([source]) => isVisible(source)));
  } catch (cause) {
    throw unavailable("The logs cannot be read now. Try again.", { cause });
  }
}

const NO_PROMQL =
  "PromQL is not served here: read the metrics of an app at /api/v1/read/<app guid>?envelope_types=GAUGE";

const promQLEndpoints: readonly Endpoint[] = ["/api/v1/query", "/api/v1/query_range"].map((path) =>
  endpoint({
    method: "GET",
    path,
    permission: "authenticated",
    summary: "Refuse a PromQL query",
    query: anyQuery,
    handler: () => {
      throw unprocessable(NO_PROMQL);
    },
  }),
);

/** Endpoints of the Log Cache API. */
export function logCacheEndpoints(services: Services): readonly Endpoint[] {
  return [
    endpoint({
      method: "GET",
      path: "/api/v1/info",
      permission: "anonymous",
      summary: "Get the version of Log Cache",
      handler: () => ok({ version: "2.11.4", vm_uptime: String(Math.floor(process.uptime())) }),
    }),
    endpoint({
      method: "GET",
      path: "/api/v1/read/:source",
      permission: logs,
      summary: `Read log lines and container metrics of an app, ${maxReadLimit} at most`,
      query: anyQuery,
      handler: async ({ session, params, url }) =>
        ok({ envelopes: { batch: await read(session, services, params.source, url) } }),
    }),
    endpoint({
      method: "GET",
      path: "/api/v1/meta",
      permission: "authenticated",
      asks: [logs],
      summary: "Count the log lines of each app",
      query: anyQuery,
      handler: async ({ session }) => ok({ meta: await readMeta(session, services) }),
    }),
    ...promQLEndpoints,
  ];
}
