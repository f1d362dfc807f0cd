// The operation `hub-logs`: on a spoke it serves the logs and stats of the apps there to the hub, whose requests come through the API server's proxy.
import { timingSafeEqual } from "node:crypto";
import type { RequestListener } from "node:http";
import { LABELS } from "../../crds/labels.ts";
import { LRP, type LrpInstance } from "../../crds/lrp/lrp.ts";
import { HUB_TOKEN_HEADER } from "../../crds/hub-account.ts";
import { keyOf } from "../../kube/api/object.ts";
import { LIST_WATCH_VERBS } from "../../kube/controller/permissions.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import type { InstanceStats, StatsQuery } from "../../telemetry/envelope.ts";
import {
  createPodUsageReader,
  POD_USAGE_PERMISSIONS,
  type PodUsage,
  type ReadPodUsage,
} from "../../telemetry/pods/pod-usage.ts";
import { telemetryReadHandler } from "../../telemetry/read-handler.ts";
import { telemetryClient } from "../../telemetry/telemetry-client.ts";
import { sendJson } from "../../telemetry/telemetry.ts";
import { findLiveMembers } from "../leases/replica-membership.ts";
import { deriveAddressToken, deriveHubToken, isHttpAddress } from "../peers/address-token.ts";
import type { PlatformContext } from "../platform-context.ts";
import { HUB_LOGS_PATH } from "./cluster-transport.ts";
import { listTelemetryAddresses } from "./replica-logs.ts";

export const HUB_LOGS_PERMISSIONS: readonly Permission[] = [
  { resource: LRP, verbs: LIST_WATCH_VERBS },
  ...POD_USAGE_PERMISSIONS,
];

const MB = 2 ** 20;

type HubLogsContext = Pick<PlatformContext, "client" | "informers" | "membership" | "log" | "disposables">;

/** The proxy reaches any replica; each asks the one that keeps the logs of a source. */
export function startHubLogs(
  { client, informers, membership, log, disposables }: HubLogsContext,
  secret: () => string,
): RequestListener {
  const { store, release } = informers.ensure(LRP);
  disposables.defer(release);
  const readUsage = createPodUsageReader({ client, now: () => new Date() });
  const logs = telemetryClient({
    endpoints: ({ source }) =>
      listTelemetryAddresses(findLiveMembers(membership) ?? [], source)
        .filter(({ url }) => isHttpAddress(url))
        .map((address) => ({ ...address, token: deriveAddressToken(secret(), "telemetry", address.url) })),
    onError: (err) => log.warn({ err }, "a telemetry endpoint does not answer"),
  });
  const handler = telemetryReadHandler({
    ...logs,
    stats: (query) => measure(store.synced ? store.list(toSelector(query)) : [], readUsage),
  });
  return (request, response) => {
    if (!hasToken(request.headers[HUB_TOKEN_HEADER], deriveHubToken(secret())))
      return sendJson(response, 401, { error: `the hub's token is needed: ${HUB_TOKEN_HEADER}` });
    request.url = (request.url ?? "").slice(HUB_LOGS_PATH.length);
    handler(request, response);
  };
}

function hasToken(given: string | string[] | undefined, wanted: string): boolean {
  const [one, other] = [Buffer.from(String(given ?? "")), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function toSelector({ app, process }: StatsQuery): { labels: Record<string, string> } {
  return {
    labels: {
      ...(app !== undefined && { [LABELS.app]: app }),
      ...(process !== undefined && { [LABELS.process]: process }),
    },
  };
}

/** Instances whose usage is known. */
async function measure(lrps: readonly LRP[], readUsage: ReadPodUsage): Promise<InstanceStats[]> {
  const measured = await Promise.all(
    lrps.map(async (lrp) => {
      const { namespace = "", name } = lrp.metadata;
      const usage = await readUsage({ namespace, name });
      return (lrp.status?.instances ?? []).flatMap((one) => {
        const used = usage.get(one.index);
        return used ? [toStats(lrp, one, used)] : [];
      });
    }),
  );
  return measured.flat();
}

const STATES = { Starting: "STARTING", Running: "RUNNING", Crashed: "CRASHED", Down: "DOWN" } as const;

function toStats({ metadata, spec }: LRP, instance: LrpInstance, usage: PodUsage): InstanceStats {
  const { index, state, ready, guid = "", since = usage.time, host = "", ports = [] } = instance;
  return {
    app: spec.app.guid,
    process: spec.processGUID,
    processType: spec.processType,
    lrp: metadata.uid ?? "",
    lrpKey: keyOf(metadata),
    index,
    instanceGuid: guid,
    state: STATES[state],
    routable: ready,
    since,
    uptime: Math.max(0, Math.floor((Date.now() - Date.parse(since)) / 1000)) || 0,
    host,
    internalIp: host,
    ports: ports.map(({ port, hostPort }) => ({ external: hostPort, internal: port })),
    memoryQuota: spec.memoryMB * MB,
    diskQuota: spec.diskMB * MB,
    fdsQuota: 16_384,
    usage,
  };
}
