// Child process: a platform on an API server that runs elsewhere, and beside it the bare Express handler that it is compared with.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { requestKind } from "../../kube/testing/request-kind.ts";
import type { Operation } from "../../platform/operations/operations.ts";
import { startPlatform } from "../../platform/platform.ts";
import { bareHandler } from "./bare-handler.ts";
import { serveParent, childOptions } from "./child-process.ts";
import { describeRequest } from "./describe-request.ts";

export interface PlatformProcessOptions {
  access: { server: string; ca: string };
  token: string;
  operations: readonly Operation[];
  data: string;
}

/** Requests to the API server since the start. */
export interface Requests {
  all: number;
  /** That would change an object, whatever came of it; Leases apart. */
  writes: number;
  /** Leases made or renewed, with success. */
  leases: number;
  /** POSTs that are answered and change nothing: reviews. */
  questions: number;
  /** How many of each `METHOD resource/subresource by field manager: code`; Leases and watches apart. */
  byKind: Record<string, number>;
}

const { access, token, operations, data } = childOptions<PlatformProcessOptions>();
const requests: Requests = { all: 0, writes: 0, leases: 0, questions: 0, byKind: {} };
const platform = await startPlatform({
  access: { ...access, auth: { kind: "token", token } },
  operations,
  data,
  listen: { host: "127.0.0.1", port: 0 },
  // The same for all replicas, as an operator gives it: the apps' environment names it.
  publicURL: "https://api.example.org",
  log: pino({ level: "error" }),
  onRequest: ({ method, path, code }) => {
    requests.all++;
    const kind = requestKind({ method, path });
    if (kind === "question") requests.questions++;
    if (kind === "lease" && code >= 200 && code < 300) requests.leases++;
    if (kind === "write") requests.writes++;
    const named = describeRequest({ method, path, code });
    if (kind !== "lease" && named !== undefined) requests.byKind[named] = (requests.byKind[named] ?? 0) + 1;
  },
});
const bare: { body: string; server: Server } = { body: "", server: createServer() };
bare.server = createServer(bareHandler(() => bare.body));
await new Promise<void>((resolve) => bare.server.listen(0, "127.0.0.1", resolve));

/** Bytes that live objects take, when the collector has done all it can. */
function memory(): number {
  for (let time = 0; time < 3; time++) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

serveParent(
  {
    url: () => platform.url,
    bareUrl: () => `http://127.0.0.1:${(bare.server.address() as AddressInfo).port}`,
    setBareBody: (body: string) => void (bare.body = body),
    requests: () => requests,
    idle: () => platform.idle(),
    memory,
    /** Resident bytes, as the kernel counts them. */
    rss: () => process.memoryUsage.rss(),
    /** Microseconds of processor time so far. */
    cpu: () => process.cpuUsage().user + process.cpuUsage().system,
  },
  async () => {
    bare.server.close();
    await platform.stop({ instances: "end" });
  },
);
