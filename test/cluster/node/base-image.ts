// The image of pods' sandboxes and of the cluster's own pods: a static busybox under the names of its commands.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ImageEntry } from "../../../scripts/image/image-entries.ts";
import { writeImage, writeImageTar } from "../../../scripts/image/oci-image.ts";
import { runProgram } from "./namespaces.ts";
import { BASE_IMAGE } from "./settings.ts";

/** Writes the image below `dir` and returns the path of its tar. */
export async function writeBaseImage(dir: string, packages: string): Promise<string> {
  const busybox = join(packages, "bin", "busybox");
  const commands = (await runProgram([busybox, "--list"])).split("\n").filter((name) => name && name !== "busybox");
  const entries: ImageEntry[] = [
    { type: "file", path: "/bin/busybox", mode: 0o755, source: busybox },
    ...commands.map((name) => ({ type: "symlink" as const, path: `/bin/${name}`, target: "busybox" })),
    { type: "directory", path: "/tmp", mode: 0o1777 },
    { type: "file", path: "/etc/passwd", mode: 0o644, content: "root:x:0:0:root:/:/bin/sh\n" },
    { type: "file", path: "/etc/group", mode: 0o644, content: "root:x:0:\n" },
  ];
  const layout = join(dir, "busybox");
  mkdirSync(layout, { recursive: true });
  await writeImage(layout, {
    layers: [{ name: "busybox", entries }],
    config: { Env: ["PATH=/bin"], Cmd: ["/bin/sleep", "2147483647"] },
    reference: BASE_IMAGE,
  });
  const tar = join(dir, "busybox.tar");
  await writeImageTar(layout, tar);
  return tar;
}
