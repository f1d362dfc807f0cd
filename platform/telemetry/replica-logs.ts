// The operation `logs`: which replica keeps the logs of which app, and whom the API asks for them.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { KubeClient } from "../../kube/client/client.ts";
import { defined } from "../../kube/api/omit-undefined.ts";
import type { Member, Membership } from "../../kube/lease/membership.ts";
import type { Answer } from "../../kube/server/readiness.ts";
import type { Watches } from "../../kube/cache/informers.ts";
import { ownerOf } from "../../telemetry/source-owner.ts";
import { startPodLogs } from "../../telemetry/pods/pod-logs.ts";
import type { LogRing } from "../../telemetry/log-ring.ts";
import { hasTelemetry } from "../operations/backends.ts";
import type { Operation } from "../operations/operations.ts";
import { REPLICA_ANNOTATIONS, seenMembers } from "../leases/replica-membership.ts";

/** Where another process serves logs and stats. */
export interface TelemetryAddress {
  url: string;
  /** What its certificate is signed by, PEM; absent on loopback. */
  authority?: string;
}

/** Replicas that keep logs of pods and have read what was there. */
function keepers(members: readonly Member[]): string[] {
  return members.filter(({ annotations }) => annotations[REPLICA_ANNOTATIONS.logs]).map(({ identity }) => identity);
}

function operationsOf({ annotations }: Member): Operation[] {
  return (annotations[REPLICA_ANNOTATIONS.operations] ?? "").split(",") as Operation[];
}

/** Whom to ask for the logs of a source, or without one for stats: all who have lines of their own, and of those who only keep pods' the owner. */
export function telemetryAddresses(members: readonly Member[], source?: string): TelemetryAddress[] {
  const owner = source === undefined ? undefined : ownerOf(source, keepers(members));
  return members.flatMap((member) => {
    const { [REPLICA_ANNOTATIONS.telemetry]: url, [REPLICA_ANNOTATIONS.authority]: authority } = member.annotations;
    const hasOwn = hasTelemetry(operationsOf(member).filter((operation) => operation !== "logs"));
    return url && (hasOwn || member.identity === owner) ? [{ url, ...defined({ authority }) }] : [];
  });
}

export interface LogsOptions {
  client: KubeClient;
  watches: Watches;
  membership: Membership;
  ring: LogRing;
  log: Logger;
}

export interface Logs {
  answer(): Answer;
  stop(): void;
}

const LOOK_MS = 200;

/** Follows the pods of the apps that this replica owns. It is asked by others only once it has read what there was. */
export function startLogs({ client, watches, membership, ring, log }: LogsOptions): Logs {
  let known: string[] = [membership.identity];
  const look = (): void => {
    const members = seenMembers(membership) ?? [];
    // A replica that does not see itself does not see who owns what, and goes on as before.
    if (members.some(({ identity }) => identity === membership.identity)) known = [...new Set([membership.identity, ...keepers(members)])];
  };
  look();
  const logs = startPodLogs({ client, watches, ring, log, owns: (source) => ownerOf(source, known) === membership.identity });
  const stopListening = membership.onChange(() => {
    look();
    logs.reassign();
  });
  const over = new AbortController();
  void announce(membership, () => logs.ready(), over.signal, log);
  return {
    answer: () => logs.ready() || (logs.parked() ? { degraded: "pods cannot be seen" } : "the logs of running pods have not been read yet"),
    stop() {
      over.abort();
      stopListening();
      logs.stop();
    },
  };
}

/** Says that this replica is to be asked, once it has something to say. */
async function announce(membership: Membership, ready: () => boolean, signal: AbortSignal, log: Logger): Promise<void> {
  for (let said = false; !said && !signal.aborted; ) {
    await delay(LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined);
    if (!ready() || signal.aborted) continue;
    try {
      await membership.annotate({ [REPLICA_ANNOTATIONS.logs]: "kept" });
      said = true;
    } catch (err) {
      log.debug({ err }, "could not say that this replica keeps logs; it is tried again");
    }
  }
}
