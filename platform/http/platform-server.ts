// The HTTP port of this process, its handlers, and its readiness.
import type { RequestListener } from "node:http";
import type { Duplex } from "node:stream";
import type { Readiness, ReadinessReport } from "../../kube/server/readiness.ts";
import type { Backend } from "../operations/backends.ts";
import { HUB_LOGS_PATH } from "../telemetry/cluster-transport.ts";
import { checkCertificate } from "./certificate.ts";
import { startHttpServer, type HttpServer } from "./http-server.ts";
import type { RequestHandlers } from "../platform-context.ts";
import type { PlatformOptions } from "../platform-options.ts";

/** A replica that lacks writes of the others must not answer, so it is not ready; one that lacks a permission is only degraded. */
export function presentHealth(readiness: Readiness, { api }: RequestHandlers): ReadinessReport {
  const report = readiness.check();
  if (!report.ready || !api || api.peers.isReady()) return report;
  return {
    ...report,
    ready: false,
    pending: [{ name: "api", reason: "has not seen yet what other replicas have written" }],
  };
}

/** Starts before everything else, so that `/readyz` can name what the start waits for. */
export function startPlatformServer(
  { listen, login, operations, log }: PlatformOptions,
  readiness: Readiness,
  handlers: RequestHandlers,
): Promise<HttpServer> {
  const findRouter = (): Backend["apps"] => handlers.backends.find((backend) => backend.apps)?.apps;
  const unavailable: RequestListener = (_request, response) =>
    void response.writeHead(503, { "retry-after": "1" }).end();
  const certificate = listen.tls && checkCertificate(listen.tls.cert);
  if (certificate) readiness.addCheck("certificate", () => certificate(new Date()));
  return startHttpServer({
    ...listen,
    apiHosts: login?.tokenLoginHosts ?? [],
    health: () => presentHealth(readiness, handlers),
    onError: (err) => log.warn({ err }, "could not accept a connection or a request"),
    ...(operations.includes("api") && {
      api: (request, response) => (handlers.api?.handler ?? unavailable)(request, response),
    }),
    ...(operations.includes("hub-logs") && {
      below: {
        path: HUB_LOGS_PATH,
        handler: (request, response) => (handlers.hubLogs ?? unavailable)(request, response),
      },
    }),
    ...(operations.includes("local-router") && {
      apps: {
        request: (request, response) => (findRouter()?.request ?? unavailable)(request, response),
        upgrade: (request, socket, head) =>
          (findRouter()?.upgrade ?? ((_request: unknown, given: Duplex) => void given.destroy()))(
            request,
            socket,
            head,
          ),
      },
    }),
  });
}
