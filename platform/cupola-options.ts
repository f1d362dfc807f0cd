// The command line of `cupola`: options, defaults and checks.
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { AUTHORIZATION_MODES, type AuthorizationMode } from "../api/access/access-reviewer.ts";
import { DEFAULT_SCRATCH_BYTES } from "../blobs/scratch/scratch-space.ts";
import { LEASE_SECONDS } from "./leases/replica-membership.ts";
import type { WebhookListenOptions } from "./webhook-options.ts";
import { CLUSTER_OPERATIONS, parseOperations, type Operation } from "./operations/operations.ts";
import { addHubOptions, type HubOptions } from "./hub-options.ts";
import { addLoginOptions, type LoginOptions } from "./login-options.ts";
import { parseAddress, parsePort } from "./parse-address.ts";
import { addInternalDNSOptions, type InternalDNSOptions } from "./internal-dns-options.ts";
import { addSSHOptions, type SSHOptions } from "./ssh-options.ts";
import { addRegistryOptions, type RegistryOptions } from "./registry-options.ts";
import { readOptionFile } from "./read-option-file.ts";
import { addTokenIssuerOptions, type TokenIssuerOptions } from "./token-issuer-options.ts";

const MEBIBYTE = 2 ** 20;

export interface CupolaOptions
  extends LoginOptions, InternalDNSOptions, SSHOptions, TokenIssuerOptions, RegistryOptions, HubOptions {
  operation: Operation[];
  kubeconfig?: string;
  context?: string;
  host: string;
  port: number;
  data: string;
  scratchMb: number;
  publicUrl?: string;
  tlsCert?: string;
  tlsKey?: string;
  authorization: AuthorizationMode;
  peerAddress: string;
  leaseSeconds: number;
  webhookAddress?: WebhookListenOptions;
  metricsAddress?: { host: string; port: number };
  routeServiceListen?: { host: string; port: number };
  grace: number;
}

/** Where the webhook listens in a pod. The chart's template cupola.webhookPort has it, too. */
export const WEBHOOK_PORT = 9443;

/** In the order of the help. */
const PARTS: readonly ((command: Command) => Command)[] = [
  addServingOptions,
  addRegistryOptions,
  addLoginOptions,
  addSSHOptions,
  addInternalDNSOptions,
  addHubOptions,
  addTokenIssuerOptions,
];

/** @param argv as process.argv. @param inPod chooses some defaults. Ends the process on `--help` and on wrong options. */
export function parseCommandLine(argv: readonly string[], inPod: boolean): CupolaOptions {
  return PARTS.reduce((command, addOptions) => addOptions(command), new Command("cupola"))
    .description("Runs the platform, or a part of it, on a Kubernetes cluster.")
    .option("--operation <names>", "what this process does, separated by commas", parseOperationsOption, [
      ...CLUSTER_OPERATIONS,
    ])
    .option("--kubeconfig <file>", "the cluster; needed outside a pod (default in a pod: its service account)")
    .option("--context <name>", "context of the kubeconfig (default: its current one)")
    .addOption(
      new Option(
        "--authorization <mode>",
        "who decides about a caller's rights: our RBAC evaluator, the evaluator with refusals confirmed by the cluster, or the cluster",
      )
        .choices(AUTHORIZATION_MODES)
        .default("rbac"),
    )
    .option(
      "--peer-address <address>",
      "where other replicas reach this one (in a pod: the address of the pod)",
      "127.0.0.1",
    )
    .option("--lease-seconds <n>", "how long a killed replica still counts as alive", parseSeconds, LEASE_SECONDS)
    .option<WebhookListenOptions | undefined>(
      "--webhook-address <host:port>",
      `where API servers reach the operation webhook (in a pod: port ${WEBHOOK_PORT}, through the Service cupola-webhook)`,
      parseAddress,
      inPod ? { host: "0.0.0.0", port: WEBHOOK_PORT, service: true } : undefined,
    )
    .option(
      "--grace <seconds>",
      "at the end, serve for so long while /readyz says not ready",
      parseSeconds,
      inPod ? 10 : 0,
    )
    .parse([...argv])
    .opts<CupolaOptions>();
}

function addServingOptions(command: Command): Command {
  return command
    .option("--host <address>", "address to listen at", "127.0.0.1")
    .option("--port <n>", "port to listen at; 0 for any", parsePort, 8080)
    .option("--data <dir>", "folder of blobs and backends", join(tmpdir(), "cupola"))
    .option(
      "--scratch-mb <n>",
      "how much of the disk of --data uploads and conversions may use while they are under way",
      parseMegabytes,
      DEFAULT_SCRATCH_BYTES / MEBIBYTE,
    )
    .option("--tls-cert <file>", "certificate to serve with; needed off loopback")
    .option("--tls-key <file>", "its key")
    .option(
      "--metrics-address <host:port>",
      "serve metrics for Prometheus at /metrics, to callers whom RBAC allows (default: no metrics)",
      parseAddress,
    )
    .option(
      "--route-service-listen <host:port>",
      "where the operation route-service listens, by plain HTTP (default: any port of loopback)",
      parseAddress,
    )
    .option("--public-url <url>", "address of the CF API as clients see it");
}

function parseOperationsOption(text: string): Operation[] {
  try {
    return parseOperations(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

function parseMegabytes(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 64 || number > 2 ** 30)
    throw new InvalidArgumentError("a number of megabytes is from 64 to 1073741824.");
  return number;
}

function parseSeconds(text: string): number {
  const number = Number(text);
  if (!(number >= 0 && number <= 600)) throw new InvalidArgumentError("a number of seconds is from 0 to 600.");
  return number;
}

/** Both files or neither. @throws Error that names the option */
export function readTls({
  tlsCert,
  tlsKey,
}: Pick<CupolaOptions, "tlsCert" | "tlsKey">): { cert: string; key: string } | undefined {
  if (!tlsCert !== !tlsKey) throw new Error("--tls-cert and --tls-key go together");
  return tlsCert && tlsKey
    ? { cert: readOptionFile("--tls-cert", tlsCert), key: readOptionFile("--tls-key", tlsKey) }
    : undefined;
}
