// Child process: one replica of the platform with watch timings of seconds instead of minutes. Started by replicas.ts.
import { pino } from "pino";
import { parseOperations } from "../../platform/operations/operations.ts";
import { startPlatform } from "../../platform/platform.ts";
import { serveParent, childOptions } from "../bench/child-process.ts";
import type { ReplicaOptions } from "./replicas.ts";

const { access, token, data, port, operations, leaseSeconds = 10 } = childOptions<ReplicaOptions>();
// Also while it is still starting, and if it does not manage to stop: it must not outlive who started it.
process.once("disconnect", () => setTimeout(() => process.exit(1), 8_000).unref());
process.once("disconnect", () => started || process.exit(1));
let started = false;

const log = pino(
  { base: undefined, level: process.env["CHAOS_LOG"] ?? "warn" },
  pino.destination({ dest: 2, sync: true }),
);
const platform = await startPlatform({
  access: { ...access, auth: { kind: "token", token } },
  operations: parseOperations(operations),
  data,
  listen: { host: "127.0.0.1", port },
  publicURL: "https://api.example.org",
  log,
  leaseSeconds,
  watchTiming: {
    backoff: { minMs: 50, maxMs: 500, jitter: 1 },
    parked: { minMs: 100, maxMs: 500, jitter: 1 },
    watchSeconds: [2, 4],
    shortWatchMs: 500,
    graceMs: 500,
  },
});
started = true;
serveParent({ idle: () => platform.idle(), leads: () => platform.leads() }, () => platform.stop({ instances: "keep" }));
