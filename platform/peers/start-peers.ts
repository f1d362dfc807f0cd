// How this process meets the other replicas: where they read from it, and that it counts as one of them.
import { untilAborted } from "../../kube/client/backoff.ts";
import { defined } from "../../kube/api/omit-undefined.ts";
import type { Membership } from "../../kube/lease/membership.ts";
import { addressToken } from "./address-token.ts";
import { hasTelemetry } from "../operations/backends.ts";
import type { Operation } from "../operations/operations.ts";
import type { Doors, Early, Side } from "../platform-context.ts";
import { peerAnnotations, startPeerServer } from "./peer-server.ts";
import { joinReplicas, leaseTiming, newIdentity } from "../leases/replica-membership.ts";
import { ensureTelemetrySecret, startTelemetry, telemetryAnnotations } from "../telemetry/telemetry.ts";
import { untilDone } from "../readiness.ts";

/** Whether other processes read from one with these operations. */
export function needsToken(operations: readonly Operation[]): boolean {
  return operations.includes("api") || hasTelemetry(operations);
}

/** Listens for them. @throws what `signal` was aborted with */
export async function startSide({ client, readiness, signal, log, options, ends }: Early): Promise<Side> {
  const { secret, secretRef } = await untilDone("token", () => ensureTelemetrySecret(client), { readiness, signal, log });
  const address = options.peerAddress ?? "127.0.0.1";
  const telemetry = hasTelemetry(options.operations) ? await startTelemetry({ secret, secretRef, address, log }) : { secret, secretRef };
  ends.defer(async () => telemetry.server?.close());
  const peers = options.operations.includes("api") ? await startPeerServer(address, (url) => addressToken(secret, "replicas", url), (err) => log.warn({ err }, "could not take a connection of another replica")) : undefined;
  ends.defer(async () => peers?.close());
  return { ...telemetry, ...defined({ peers }) };
}

/** The Lease stands before anything is listed: whoever counts the replicas from then on counts this one. */
export async function joinOthers({ client, watches, readiness, signal, log, options, ends }: Early, side: Side | undefined, doors: Doors): Promise<Membership> {
  const membership = joinReplicas({
    client, watches, log, operations: options.operations, identity: newIdentity(), timing: leaseTiming(options.leaseSeconds).member,
    annotations: { ...(side?.server && telemetryAnnotations(side.server)), ...(side?.peers && peerAnnotations(side.peers)) },
    onRejoined: async () => doors.api?.replicas.meet(),
  });
  ends.defer(() => membership.leave());
  readiness.expect("replicas", () => membership.problem() ?? true);
  await Promise.race([membership.joined, untilAborted(signal)]);
  signal.throwIfAborted();
  return membership;
}
