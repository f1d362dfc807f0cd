// An app's folder as an image, as somebody else's build would make it: Node on a small Debian, a user who is not root.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IMAGE_USER, listBaseEntries } from "../../../scripts/image/base-layer.ts";
import { type ImageEntry, listFolder } from "../../../scripts/image/image-entries.ts";
import { writeImage } from "../../../scripts/image/oci-image.ts";
import type { NodePlatform } from "./node-platform.ts";

const NODE = join(import.meta.dirname, "..", "..", "..", "node_modules", `node-linux-${process.arch}`, "bin", "node");

/** Pushes the image into the registry of a node. @param app a folder with a `server.js`. @param more files in it besides. @returns its reference */
export async function pushHelloImage(
  { node, operator }: Pick<NodePlatform, "node" | "operator">,
  name: string,
  app: string,
  more: readonly ImageEntry[] = [],
): Promise<string> {
  const reference = `${node.registry.host}/${name}`;
  const layout = mkdtempSync(join(tmpdir(), "cupola-hello-image-"));
  try {
    await writeHelloImage(layout, { reference, app, more });
    await operator.pushImage(layout, name);
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
  return reference;
}

/** Writes the image into the folder `layout`. */
async function writeHelloImage(
  layout: string,
  { reference, app, more }: { reference: string; app: string; more: readonly ImageEntry[] },
): Promise<void> {
  const { entries } = await listBaseEntries();
  await writeImage(layout, {
    reference,
    layers: [
      { name: "base", entries },
      { name: "Node", entries: [{ type: "file", path: "/usr/bin/node", mode: 0o755, source: NODE }] },
      ...(more.length > 0 ? [{ name: "more", entries: [...more] }] : []),
      { name: "app", entries: listFolder(app, "/app") },
    ],
    config: {
      User: `${IMAGE_USER.uid}:${IMAGE_USER.gid}`,
      WorkingDir: "/app",
      Env: ["PATH=/usr/bin:/bin"],
      Entrypoint: ["/usr/bin/node", "server.js"],
    },
  });
}
