// The HTTP port of this process: what is behind it, and whether it may be asked.
import type { RequestListener } from "node:http";
import type { Duplex } from "node:stream";
import type { Readiness, ReadinessReport } from "../../kube/server/readiness.ts";
import type { Backend } from "../operations/backends.ts";
import { openFrontDoor, type FrontDoor } from "./http-server.ts";
import type { Doors } from "../platform-context.ts";
import type { PlatformOptions } from "../platform.ts";

/** A replica that must not answer since it lacks what the others have written is not ready, other than one that lacks a right. */
export function healthOf(readiness: Readiness, { api }: Doors): ReadinessReport {
  const report = readiness.check();
  if (!report.ready || !api || api.replicas.ready()) return report;
  return { ...report, ready: false, pending: [{ name: "api", reason: "has not seen yet what other replicas have written" }] };
}

/** Opened first of all, so that it can be asked what the rest waits for. */
export function openDoor({ listen, operations, log }: PlatformOptions, readiness: Readiness, doors: Doors): Promise<FrontDoor> {
  const router = (): Backend["apps"] => doors.backends.find((backend) => backend.apps)?.apps;
  const later: RequestListener = (_request, response) => void response.writeHead(503, { "retry-after": "1" }).end();
  return openFrontDoor({
    ...listen,
    health: () => healthOf(readiness, doors),
    onFault: (err) => log.warn({ err }, "could not take a connection or a request"),
    ...(operations.includes("api") && { api: (request, response) => (doors.api?.handler ?? later)(request, response) }),
    ...(operations.includes("local-router") && {
      apps: {
        request: (request, response) => (router()?.request ?? later)(request, response),
        upgrade: (request, socket, head) => (router()?.upgrade ?? ((_request: unknown, given: Duplex) => void given.destroy()))(request, socket, head),
      },
    }),
  });
}
