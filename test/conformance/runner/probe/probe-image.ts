// The probe app as an image: Debian's C library, Node, a shell, and probe.mjs.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { IMAGE_USER, listBaseEntries } from "../../../../scripts/image/base-layer.ts";
import { providePackages } from "../../../../scripts/image/debian-packages.ts";
import type { ImageEntry } from "../../../../scripts/image/image-entries.ts";
import { writeImage, writeImageTar } from "../../../../scripts/image/oci-image.ts";

export const PROBE_IMAGE = "probe.example/probe:1";
/** Starts the probe in the image, by a shell. */
export const PROBE_COMMAND = "exec node /probe/probe.mjs";

/** Writes the image below `dir` and returns the path of its tar. */
export async function writeProbeImage(dir: string): Promise<string> {
  const { entries } = await listBaseEntries();
  const { root } = await providePackages(["busybox-static"]);
  const program = (path: string, source: string): ImageEntry => ({ type: "file", path, mode: 0o755, source });
  const layout = join(dir, "probe");
  mkdirSync(layout, { recursive: true });
  await writeImage(layout, {
    reference: PROBE_IMAGE,
    layers: [
      { name: "libraries", entries },
      { name: "Node", entries: [program("/usr/bin/node", process.execPath)] },
      {
        name: "probe",
        entries: [
          program("/bin/busybox", join(root, "bin", "busybox")),
          { type: "symlink", path: "/bin/sh", target: "busybox" },
          program("/probe/probe.mjs", join(import.meta.dirname, "probe.mjs")),
        ],
      },
    ],
    config: {
      User: `${IMAGE_USER.uid}:${IMAGE_USER.gid}`,
      Env: ["PATH=/usr/bin:/bin"],
      WorkingDir: "/probe",
      Cmd: ["node", "/probe/probe.mjs"],
    },
  });
  const tar = join(dir, "probe.tar");
  await writeImageTar(layout, tar);
  return tar;
}
