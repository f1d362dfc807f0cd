// `cupola` without a command: any set of operations, with a kubeconfig or, in a pod, its service account. The image runs it.
import { parseCommandLine } from "./cupola-options.ts";
import { createLog } from "./create-log.ts";
import { startPlatform, type RunningPlatform } from "./platform.ts";
import { createShutdown } from "./shutdown.ts";
import { toPlatformOptions } from "./to-platform-options.ts";
import { cupolaVersion } from "./version.ts";

const STDERR = 2;

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
  platform = await startPlatform({
    ...(await toPlatformOptions(options, inPod)),
    log: createLog(STDERR, { version: cupolaVersion(), operations: options.operation.join(",") }),
    signal: shutdown.signal,
  });
  if (shutdown.signal.aborted) await shutdown.trigger();
  // A line on stdout gives the parent process the URL.
  process.stdout.write(`${JSON.stringify({ ready: true, url: platform.url, operations: options.operation })}\n`);
} catch (error) {
  if (shutdown.signal.aborted) process.exit(0);
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exit(1);
}
