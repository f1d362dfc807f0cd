// `cupola` without a command: any set of operations, with a kubeconfig or, in a pod, its service account. The image runs it.
import { REWOUND_EXIT_CODE } from "../crds/replica/rewound.ts";
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

const log = createLog(STDERR, { version: cupolaVersion(), operations: options.operation.join(",") });

/** Without the usual end: its last writes would rest on what is no longer so. */
function endRewound(versions: { before: string; now: string }): never {
  log.error(
    versions,
    "the cluster went back to an earlier state, as after the restoration of a backup: this process ends, and starts again without what it knew",
  );
  process.exit(REWOUND_EXIT_CODE);
}

try {
  platform = await startPlatform({
    ...(await toPlatformOptions(options, inPod)),
    log,
    onRewound: endRewound,
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
