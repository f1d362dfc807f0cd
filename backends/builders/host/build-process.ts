// The process of one build, which leads its process group: unpacks the package, runs the lifecycle, packs the droplet. Its stdout and stderr are the build's log.
import { createReadStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { flushCompileCache } from "node:module";
import { join } from "node:path";
import { ArchiveRejected } from "../../../blobs/archive/archive-path.ts";
import { READ_BYTES } from "../../../blobs/archive/file-writer.ts";
import { packInParts } from "../../../blobs/archive/kept-parts.ts";
import { unpackTar } from "../../../blobs/archive/tar.ts";
import { BlobTooLarge } from "../../../blobs/blob-store.ts";
import { hostEnvironment } from "../../host/host-environment.ts";
import { dropletPaths } from "../../host/droplet-metadata.ts";
import type { BuildResponse, BuildRequest } from "./build-protocol.ts";
import { keepDroplet, openKeptDroplet } from "./kept-droplet.ts";
import { thisMachine } from "./lifecycle/buildpack.ts";
import { StagingFailure } from "../staging-failure.ts";
import { runLifecycle } from "./lifecycle/lifecycle.ts";

async function runJob(job: BuildRequest): Promise<BuildResponse> {
  try {
    const app = dropletPaths.app(job.root);
    await mkdir(app, { recursive: true });
    const bits = createReadStream("", { fd: 0, autoClose: false, highWaterMark: READ_BYTES });
    await unpackTar(bits, app, { maxBytes: job.maxBytes, symlinks: "inside" });
    const { root, work, stack, user } = job;
    const metadata = await runLifecycle({
      ...job,
      workspace: {
        root,
        work,
        stack,
        user,
        platform: join(work, "platform"),
        machine: await thisMachine(),
        base: { ...hostEnvironment(), ...job.settings },
      },
      log: (stream, line) => void (stream === "OUT" ? process.stdout : process.stderr).write(`${line}\n`),
    });
    // The process is killed at its end, and the next build reads compiled modules faster.
    flushCompileCache();
    await packDroplet(job);
    return { metadata };
  } catch (error) {
    return { failure: toFailure(error) };
  }
}

async function packDroplet({ root, droplet, cache }: BuildRequest): Promise<void> {
  const kept = await openKeptDroplet(cache);
  try {
    const parts = await packInParts({ root, paths: ["app", "layers"], target: droplet }, kept);
    // Without it the next build packs everything anew.
    await keepDroplet(cache, droplet, parts).catch(() => undefined);
  } finally {
    await kept?.file.close();
  }
}

function toFailure(error: unknown): { code: StagingFailure["code"]; message: string } {
  if (error instanceof StagingFailure) return { code: error.code, message: error.message };
  if (error instanceof ArchiveRejected || error instanceof BlobTooLarge)
    return { code: "StagingError", message: `the package cannot be unpacked: ${error.message}` };
  return { code: "StagingError", message: error instanceof Error ? error.message : String(error) };
}

// The channel closes when the platform's process ends for any reason, so no build outlives it.
process.once("disconnect", () => process.kill(-process.pid, "SIGKILL"));
process.once("message", (job: BuildRequest) => {
  // runJob never rejects: every error becomes a response.
  void runJob(job).then((response) => process.send?.(response));
});
