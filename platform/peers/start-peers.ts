// Connects this process with the other replicas: the servers that they call, and the membership.
import { untilAborted } from "../../kube/client/until-aborted.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Membership } from "../../kube/lease/membership.ts";
import { deriveAddressToken } from "./address-token.ts";
import { hasTelemetry } from "../operations/backends.ts";
import type { Operation } from "../operations/operations.ts";
import type { RequestHandlers, StartupContext, PeerServers } from "../platform-context.ts";
import { toPeerAnnotations } from "./peer-directory.ts";
import { startPeerListener } from "./peer-server.ts";
import { joinReplicas, leaseTiming } from "../leases/replica-membership.ts";
import { startTelemetrySecret, TELEMETRY_SECRET } from "../telemetry/telemetry-secret.ts";
import { startTelemetry, toTelemetryAnnotations } from "../telemetry/telemetry-server.ts";

/** Operations besides those with telemetry that call other processes, or are called by them. */
const CALLING: readonly Operation[] = ["api", "controllers", "hub-logs", "log-drains"];

/** Whether other processes read from one with these operations, or it reads from them. */
export function needsPeerServers(operations: readonly Operation[]): boolean {
  return CALLING.some((operation) => operations.includes(operation)) || hasTelemetry(operations);
}

/** Starts the servers. @throws the abort reason of `signal` */
export async function startPeerServers({
  client,
  informers,
  readiness,
  signal,
  log,
  options,
  disposables,
}: StartupContext): Promise<PeerServers> {
  const secret = await startTelemetrySecret({ client, informers, readiness, signal, log });
  const secretRef = { name: TELEMETRY_SECRET };
  const address = options.peerAddress ?? "127.0.0.1";
  const telemetry = hasTelemetry(options.operations)
    ? await startTelemetry({ secret, secretRef, address, log })
    : { secret, secretRef };
  disposables.defer(async () => telemetry.server?.close());
  const peers = options.operations.includes("api")
    ? await startPeerListener(
        address,
        (url) => deriveAddressToken(secret(), "replicas", url),
        (err) => log.warn({ err }, "could not accept a connection of another replica"),
      )
    : undefined;
  disposables.defer(async () => peers?.close());
  return { ...telemetry, ...omitUndefined({ peers }) };
}

/** The Lease exists before anything is listed: every replica that answers a write from then on waits for this one. */
export async function joinPeers(
  { client, informers, readiness, signal, log, options, identity, disposables }: StartupContext,
  peerServers: PeerServers | undefined,
  handlers: RequestHandlers,
): Promise<Membership> {
  const membership = joinReplicas({
    client,
    informers,
    log,
    operations: options.operations,
    identity,
    timing: leaseTiming(options.leaseSeconds).member,
    annotations: {
      ...(peerServers?.server && toTelemetryAnnotations(peerServers.server)),
      ...(peerServers?.peers && toPeerAnnotations(peerServers.peers)),
    },
    onRejoined: async () => handlers.api?.peers.syncWithPeers(),
    onRewound: options.onRewound,
  });
  disposables.defer(() => membership.leave());
  readiness.addCheck("replicas", () => membership.problem() ?? true);
  await Promise.race([membership.joined, untilAborted(signal)]);
  signal.throwIfAborted();
  return membership;
}
