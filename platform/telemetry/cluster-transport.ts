// Reads of logs and stats on another cluster, through its API server. That cluster is not trusted: its answers are bounded and checked.
import { z } from "zod";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { HUB_LOGS_PROXY, HUB_TOKEN_HEADER } from "../../crds/hub-account.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { lineSplitter } from "../../telemetry/line-splitter.ts";
import type { TelemetryEndpoint } from "../../telemetry/endpoint-agent.ts";
import { maxReadLimit, type Envelope, type InstanceStats, type SourceMeta } from "../../telemetry/envelope.ts";
import type { TelemetryTransport } from "../../telemetry/http-transport.ts";
import { MAX_BATCH_BYTES } from "../../telemetry/read-handler.ts";
import type { PlacedApps } from "./placed-apps.ts";

/** Path at which a spoke serves its logs and stats to the hub. */
export const HUB_LOGS_PATH = "/telemetry";

const PROXY = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/services/${HUB_LOGS_PROXY}/proxy${HUB_LOGS_PATH}`;

/** Room for a batch written as JSON. */
const MAX_ANSWER_BYTES = 2 * MAX_BATCH_BYTES;
/** A line of 60 KiB in base64, with its tags. */
const MAX_LINE_LENGTH = 1 << 20;
/** Time for the head of a stream. */
const OPEN_MS = 5_000;
/** A cluster that did not answer a read is not asked again for this long, so that it delays no further answer. */
const PAUSE_MS = 5_000;

const text = z.string().max(1024);
const nanoseconds = z.string().regex(/^\d{1,19}$/);
const envelope = z.object({
  timestamp: nanoseconds,
  source_id: text,
  instance_id: z.string().max(63),
  tags: z.record(z.string().max(255), text),
  log: z.object({ payload: z.string(), type: z.enum(["OUT", "ERR"]) }),
});
const size = z.number().min(0);
const instance = z.object({
  app: text,
  process: text,
  processType: text,
  lrp: text,
  lrpKey: text,
  index: z.int().min(0),
  instanceGuid: text,
  state: z.enum(["RUNNING", "STARTING", "CRASHED", "DOWN", "STOPPING"]),
  routable: z.boolean(),
  since: text,
  uptime: size,
  host: text,
  internalIp: text,
  ports: z.array(z.object({ external: z.int(), internal: z.int() })).max(50),
  memoryQuota: size,
  diskQuota: size,
  fdsQuota: size,
  usage: z.object({ time: text, cpu: size, mem: size, disk: size.optional(), logRate: size.optional() }),
});
const sourceMeta = z.object({
  count: nanoseconds,
  expired: nanoseconds,
  oldestTimestamp: nanoseconds,
  newestTimestamp: nanoseconds,
});
const answer = z.object({
  envelopes: z.object({ batch: z.array(z.unknown()).max(maxReadLimit) }).optional(),
  instances: z.array(z.unknown()).max(10_000).optional(),
  meta: z.record(z.string().max(63), z.unknown()).optional(),
});

export interface ClusterTransportOptions {
  /** Undefined while the cluster is not engaged, or does not answer. */
  findClient: (cluster: string) => Pick<KubeClient, "stream"> | undefined;
  apps: PlacedApps;
  now: () => number;
}

/** The URL of an endpoint is the name of its cluster. */
export function clusterTransport(options: ClusterTransportOptions): TelemetryTransport {
  const silentSince = new Map<string, number>();
  const open = (
    { url: cluster, token }: TelemetryEndpoint,
    path: string,
    signal: AbortSignal,
    deadlineMs: number,
  ): ReturnType<KubeClient["stream"]> => {
    const client = options.findClient(cluster);
    if (!client) throw new Error(`cluster ${cluster} does not answer`);
    return client.stream("GET", `${PROXY}${path}`, { headers: { [HUB_TOKEN_HEADER]: token }, signal, deadlineMs });
  };
  return {
    async getJson(endpoint, path, timeoutMs) {
      const { url: cluster } = endpoint;
      if (options.now() - (silentSince.get(cluster) ?? -Infinity) < PAUSE_MS)
        throw new Error(`cluster ${cluster} has not answered just now`);
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        const { body } = await open(endpoint, path, signal, timeoutMs);
        const read = answer.parse(JSON.parse(await readBounded(body)));
        silentSince.delete(cluster);
        return check(read, cluster, path, options.apps);
      } catch (cause) {
        silentSince.set(cluster, options.now());
        throw new Error(`the logs and stats of cluster ${cluster} cannot be read`, { cause });
      }
    },
    async openLines(endpoint, path, signal) {
      const { body } = await open(endpoint, path, signal, OPEN_MS);
      return readEnvelopes(body, sourceOf(path));
    },
  };
}

/** Without what the cluster may not speak for. */
function check(
  { envelopes, instances, meta }: z.output<typeof answer>,
  cluster: string,
  path: string,
  apps: PlacedApps,
): unknown {
  if (path.startsWith("/logs/"))
    return { envelopes: { batch: (envelopes?.batch ?? []).flatMap((one) => toEnvelope(one, sourceOf(path)) ?? []) } };
  if (path.startsWith("/stats")) return { instances: (instances ?? []).flatMap((one) => toStats(one, cluster, apps)) };
  const known = Object.entries(meta ?? {}).flatMap(([source, value]): [string, SourceMeta][] => {
    const parsed = sourceMeta.safeParse(value);
    return parsed.success && apps.isOn(cluster, source) ? [[source, parsed.data]] : [];
  });
  return { meta: Object.fromEntries(known) };
}

function sourceOf(path: string): string {
  return decodeURIComponent(path.split(/[/?]/)[2] ?? "");
}

function toEnvelope(value: unknown, source: string): Envelope | undefined {
  const { success, data } = envelope.safeParse(value);
  return success && data.source_id === source ? data : undefined;
}

function toStats(value: unknown, cluster: string, apps: PlacedApps): InstanceStats[] {
  const { success, data } = instance.safeParse(value);
  return success && apps.isAssigned(cluster, data) ? [data as InstanceStats] : [];
}

async function readBounded(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    // Leaving the loop ends the request.
    if (bytes > MAX_ANSWER_BYTES) throw new RangeError(`more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The splitter cuts a line that is too long into pieces. They are not JSON, and are left out. */
async function* readEnvelopes(body: AsyncIterable<Buffer>, source: string): AsyncGenerator<string> {
  const lines: string[] = [];
  const splitter = lineSplitter((line) => lines.push(line), MAX_LINE_LENGTH);
  for await (const chunk of body) {
    splitter.write(chunk);
    for (const line of lines.splice(0)) if (isOfSource(line, source)) yield line;
  }
}

function isOfSource(line: string, source: string): boolean {
  try {
    return toEnvelope(JSON.parse(line), source) !== undefined;
  } catch {
    return false;
  }
}
