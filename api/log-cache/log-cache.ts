// The Log Cache HTTP API that `cf logs` reads. Lines come from the telemetry endpoints that backend classes publish.
import { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { type EnvelopeType, type LogQuery, maxReadLimit } from "../../telemetry/envelope.ts";
import { endpoint, ok, type Endpoint } from "../http/endpoint.ts";
import { notFound, unavailable } from "../http/errors.ts";
import { rawQuery } from "../http/query.ts";
import type { Services } from "../services.ts";

const logs = { verb: "get", on: App, subresource: "logs" } as const;
const integer = /^-?\d{1,19}$/;

/** Log Cache's parameters. Values that are not numbers are ignored, because old clients send them. */
export function toLogQuery(url: string): LogQuery {
  const raw = rawQuery(url);
  const types = new URLSearchParams(url.split("?")[1]).getAll("envelope_types").flatMap((value) => value.split(","));
  const { start_time: start = "", end_time: end = "", limit = "" } = raw;
  return {
    ...(integer.test(start) && { start: BigInt(start) }),
    ...(integer.test(end) && { end: BigInt(end) }),
    limit: /^\d{1,6}$/.test(limit) ? Math.min(Math.max(Number(limit), 1), maxReadLimit) : 100,
    descending: raw["descending"] === "true",
    types: types.filter(isEnvelopeType),
  };
}

function isEnvelopeType(text: string): text is EnvelopeType {
  return ["LOG", "COUNTER", "GAUGE", "TIMER", "EVENT"].includes(text);
}

/** Endpoints of the Log Cache API. */
export function logCacheEndpoints({ telemetry }: Services): readonly Endpoint[] {
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
      summary: "Read log lines of an app",
      query: z.object({}),
      handler: async ({ session, params, url }) => {
        const app = session.find(App, params.source);
        const { name = "", namespace = "" } = app?.metadata ?? {};
        if (!app || !session.allows({ ...logs, namespace, name })) throw notFound("App");
        try {
          return ok({ envelopes: { batch: await telemetry.readLogs(session.cache.guid(App, app), toLogQuery(url)) } });
        } catch (cause) {
          throw unavailable("The logs cannot be read now. Try again.", { cause });
        }
      },
    }),
  ];
}
