// What this process answers with: the CF API, the webhook, and the logs of pods.
import { defined } from "../../kube/api/omit-undefined.ts";
import type { Member } from "../../kube/lease/membership.ts";
import { createApi, type Api } from "../../api/server.ts";
import { startLogs, telemetryAddresses } from "../telemetry/replica-logs.ts";
import type { Parts, Side } from "../platform-context.ts";
import { peerDirectory } from "../peers/peer-server.ts";
import { seenMembers } from "../leases/replica-membership.ts";
import { createTelemetryClient } from "../telemetry/telemetry.ts";
import { describeGaps } from "../readiness.ts";
import { startWebhook, WEBHOOK_LISTEN } from "./name-webhook.ts";

/** Answers at once with 503 until all it reads is listed and the other replicas are met. */
export function startApi({ client, watches, blobs, log, options, membership, readiness, ends }: Parts, side: Side): Api {
  const members = (): Member[] => seenMembers(membership) ?? [];
  const telemetry = createTelemetryClient({ watches, log, addresses: (source) => telemetryAddresses(members(), source), members });
  const peers = side.peers && { directory: peerDirectory(membership, side.peers), tokenFor: side.peers.tokenFor };
  const api = createApi({ client, watches, blobs, log, telemetry, ...defined({ url: options.publicURL, authorization: options.authorization, tokenIssuer: options.tokenIssuer, peers }) });
  const over = new AbortController();
  ends.defer(() => {
    over.abort();
    return api.replicas.close();
  });
  side.peers?.serve(api.replicas.handler);
  void meetWhenListed(api, over.signal);
  readiness.expect("api", () => api.ready() || describeGaps(watches.status().filter(({ synced }) => !synced)) || "the other replicas have not been met yet");
  return api;
}

const LISTED_MS = 1_000;

/** What the others have written counts from what is held here, so that is listed first. */
async function meetWhenListed(api: Api, signal: AbortSignal): Promise<void> {
  let listed = false;
  while (!listed && !signal.aborted) listed = await api.waitReady(LISTED_MS);
  if (!signal.aborted) await api.replicas.meet();
}

/** @throws Error when its address is taken */
export async function openWebhook({ client, watches, readiness, options, log, ends }: Parts): Promise<void> {
  const webhook = await startWebhook({ client, watches, log, listen: options.webhook ?? WEBHOOK_LISTEN });
  ends.defer(() => webhook.stop());
  readiness.expect("webhook", () => webhook.answer());
}

/** Follows the containers of the apps that fall to this replica. */
export function keepLogs({ client, watches, membership, readiness, log, ends }: Parts, side: Side | undefined): void {
  if (!side?.telemetry) throw new Error("logs need the telemetry side of their process");
  const logs = startLogs({ client, watches, membership, ring: side.telemetry.ring, log });
  ends.defer(() => logs.stop());
  readiness.expect("logs", () => logs.answer());
}
