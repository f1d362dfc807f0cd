#!/usr/bin/env node
// The entry of `cupola`: any set of operations, with a kubeconfig or, in a pod, its service account. What the image runs.
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { pino } from "pino";
import { AUTHORIZATION_MODES, type AuthorizationMode } from "../api/access/access-reviewer.ts";
import { omitUndefined } from "../kube/api/omit-undefined.ts";
import { loadDefaultAccess } from "../kube/client/kubeconfig.ts";
import { openLogDestination } from "./log-destination.ts";
import { createShutdown } from "./shutdown.ts";
import { CLUSTER_OPERATIONS, parseOperations, type Operation } from "./operations/operations.ts";
import { startPlatform, type RunningPlatform } from "./platform.ts";
import { LEASE_SECONDS } from "./leases/replica-membership.ts";
import { addTokenIssuerOptions, toTokenIssuerSettings, type TokenIssuerOptions } from "./token-issuer-options.ts";
import type { WebhookListenOptions } from "./operations/name-webhook.ts";

interface Options extends TokenIssuerOptions {
  operation: Operation[];
  kubeconfig?: string;
  context?: string;
  host: string;
  port: number;
  data: string;
  publicUrl?: string;
  tlsCert?: string;
  tlsKey?: string;
  authorization: AuthorizationMode;
  peerAddress: string;
  leaseSeconds: number;
  webhookAddress?: WebhookListenOptions;
  grace: number;
}

const STDERR = 2;
const DRAIN_MS = 20_000;
const IN_POD = process.env["KUBERNETES_SERVICE_HOST"] !== undefined;

const options = addTokenIssuerOptions(new Command("cupola"))
  .description("Runs the platform, or a part of it, on a Kubernetes cluster.")
  .option("--operation <names>", "what this process does, by commas", parseOperationsOption, [...CLUSTER_OPERATIONS])
  .option("--kubeconfig <file>", "the cluster (default: the service account of this pod, else KUBECONFIG)")
  .option("--context <name>", "context of the kubeconfig")
  .option("--host <address>", "address to listen at", "127.0.0.1")
  .option("--port <n>", "port to listen at; 0 for any", parsePort, 8080)
  .option("--data <dir>", "folder of blobs and backends", join(tmpdir(), "cupola"))
  .option("--tls-cert <file>", "certificate to serve with; needed off loopback")
  .option("--tls-key <file>", "its key")
  .option("--public-url <url>", "address of the CF API as clients see it")
  .addOption(
    new Option(
      "--authorization <mode>",
      "whose word counts at the CF API: RBAC's, RBAC's with its no confirmed by the cluster's authorizers, or theirs",
    )
      .choices(AUTHORIZATION_MODES)
      .default("rbac"),
  )
  .option("--peer-address <address>", "where the other replicas reach this one (in a pod: its address)", "127.0.0.1")
  .option(
    "--lease-seconds <n>",
    "a replica that was killed is taken for a living one so long",
    parseSeconds,
    LEASE_SECONDS,
  )
  .option(
    "--webhook-address <host:port>",
    "where API servers reach the operation webhook (in a pod: at port 9443, through the Service cupola-webhook)",
    parseWebhookAddress,
    IN_POD ? { host: "0.0.0.0", port: 9443, service: true } : undefined,
  )
  .option("--grace <seconds>", "at the end, serve on so long while /readyz says no", parseSeconds, IN_POD ? 10 : 0)
  .parse()
  .opts<Options>();

function parseOperationsOption(text: string): Operation[] {
  try {
    return parseOperations(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

function parsePort(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > 65535)
    throw new InvalidArgumentError("a port is a number from 0 to 65535.");
  return number;
}

/** `host:port`, an IPv6 address in brackets. */
function parseWebhookAddress(text: string): WebhookListenOptions {
  const [, host, number] = /^(\[[0-9a-fA-F:]+\]|[^:[\]/]+):(\d+)$/.exec(text) ?? [];
  if (!host || !number) throw new InvalidArgumentError("an address is a host and a port, as in 192.0.2.7:9443.");
  return { host: host.replace(/^\[|\]$/g, ""), port: parsePort(number) };
}

function parseSeconds(text: string): number {
  const number = Number(text);
  if (!(number >= 0 && number <= 600)) throw new InvalidArgumentError("a number of seconds is from 0 to 600.");
  return number;
}

/** Both files or neither. @throws Error */
function readTls({ tlsCert, tlsKey }: Options): { cert: string; key: string } | undefined {
  if (!tlsCert !== !tlsKey) throw new Error("--tls-cert and --tls-key go together");
  return tlsCert && tlsKey ? { cert: readFileSync(tlsCert, "utf8"), key: readFileSync(tlsKey, "utf8") } : undefined;
}

const log = pino({ base: undefined }, openLogDestination(STDERR));
const access = await loadDefaultAccess({
  ...(options.kubeconfig && { path: options.kubeconfig }),
  ...(options.context && { context: options.context }),
});
let platform: RunningPlatform | undefined;
const shutdown = createShutdown({
  stop: () => platform?.stop({ instances: "keep" }),
  exit: (code) => process.exit(code),
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void shutdown.trigger());

try {
  platform = await startPlatform({
    access,
    operations: options.operation,
    data: options.data,
    listen: { host: options.host, port: options.port, ...omitUndefined({ tls: readTls(options) }) },
    authorization: options.authorization,
    ...omitUndefined({ tokenIssuer: toTokenIssuerSettings(options) }),
    peerAddress: options.peerAddress,
    leaseSeconds: options.leaseSeconds,
    ...(options.webhookAddress && { webhook: options.webhookAddress }),
    shutdown: { graceMs: options.grace * 1000, drainMs: DRAIN_MS },
    log,
    signal: shutdown.signal,
    ...(options.publicUrl && { publicURL: options.publicUrl }),
  });
  if (shutdown.signal.aborted) await shutdown.trigger();
  // One line on stdout for whoever started this: where it is.
  process.stdout.write(`${JSON.stringify({ ready: true, url: platform.url, operations: options.operation })}\n`);
} catch (error) {
  if (!shutdown.signal.aborted) throw error;
  process.exit(0);
}
