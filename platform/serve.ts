// `cupola` without a command: any set of operations, with a kubeconfig or, in a pod, its service account. The image runs it.
import { pino } from "pino";
import { omitUndefined } from "../kube/api/omit-undefined.ts";
import { loadInCluster, loadKubeconfig } from "../kube/client/kubeconfig.ts";
import type { ClusterAccess } from "../kube/client/create-client.ts";
import { parseCommandLine, readTls, type CupolaOptions } from "./cupola-options.ts";
import { openLogDestination } from "./log-destination.ts";
import { startPlatform, type RunningPlatform } from "./platform.ts";
import { toRegistrySettings } from "./registry-options.ts";
import { createShutdown, type Shutdown } from "./shutdown.ts";
import { toTokenIssuerSettings } from "./token-issuer-options.ts";

const STDERR = 2;
const DRAIN_MS = 20_000;

/** Ignores KUBECONFIG: a platform joins only a cluster that its options name. @throws Error */
function loadAccess({ kubeconfig, context }: CupolaOptions, inPod: boolean): Promise<ClusterAccess> {
  if (kubeconfig) return loadKubeconfig({ path: kubeconfig, ...omitUndefined({ context }) });
  if (inPod) return loadInCluster();
  throw new Error(
    "no cluster is named: give --kubeconfig FILE, or run this in a pod. On a laptop, `npm start` needs no cluster",
  );
}

async function start(options: CupolaOptions, inPod: boolean, shutdown: Shutdown): Promise<RunningPlatform> {
  return startPlatform({
    access: await loadAccess(options, inPod),
    operations: options.operation,
    data: options.data,
    listen: { host: options.host, port: options.port, ...omitUndefined({ tls: readTls(options) }) },
    authorization: options.authorization,
    ...omitUndefined({ tokenIssuer: toTokenIssuerSettings(options), registry: toRegistrySettings(options) }),
    peerAddress: options.peerAddress,
    leaseSeconds: options.leaseSeconds,
    ...(options.webhookAddress && { webhook: options.webhookAddress }),
    shutdown: { graceMs: options.grace * 1000, drainMs: DRAIN_MS },
    log: pino({ base: undefined }, openLogDestination(STDERR)),
    signal: shutdown.signal,
    ...(options.publicUrl && { publicURL: options.publicUrl }),
  });
}

/** Describes a configuration error in one sentence, and any other error with its stack. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isOurs = ["Error", "KubeError"].includes(error.name);
  return isOurs ? `cupola: ${error.message}` : (error.stack ?? error.message);
}

const inPod = process.env["KUBERNETES_SERVICE_HOST"] !== undefined;
const options = parseCommandLine(process.argv, inPod);
let platform: RunningPlatform | undefined;
const shutdown = createShutdown({
  stop: () => platform?.stop({ instances: "keep" }),
  exit: (code) => process.exit(code),
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void shutdown.trigger());

try {
  platform = await start(options, inPod, shutdown);
  if (shutdown.signal.aborted) await shutdown.trigger();
  // One line on stdout gives the parent process the URL.
  process.stdout.write(`${JSON.stringify({ ready: true, url: platform.url, operations: options.operation })}\n`);
} catch (error) {
  if (shutdown.signal.aborted) process.exit(0);
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exit(1);
}
