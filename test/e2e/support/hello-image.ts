// An app's folder as an image, as somebody else's build would make it: Node on a small Debian, a user who is not root.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IMAGE_USER, listBaseEntries } from "../../../scripts/image/base-layer.ts";
import { listFolder } from "../../../scripts/image/image-entries.ts";
import { writeImage } from "../../../scripts/image/oci-image.ts";
import type { NodePlatform } from "./node-platform.ts";

const NODE = join(import.meta.dirname, "..", "..", "..", "node_modules", `node-linux-${process.arch}`, "bin", "node");

/** Pushes the image into the registry of a node. @param app a folder with a `server.js`. @returns its reference */
export async function pushHelloImage(
  { node, operator }: Pick<NodePlatform, "node" | "operator">,
  name: string,
  app: string,
): Promise<string> {
  const reference = `${node.registry.host}/${name}`;
  const layout = mkdtempSync(join(tmpdir(), "cupola-hello-image-"));
  try {
    await writeHelloImage(layout, reference, app);
    await operator.pushImage(layout, name);
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
  return reference;
}

/** Writes the image into the folder `layout`. */
async function writeHelloImage(layout: string, reference: string, app: string): Promise<void> {
  const { entries } = await listBaseEntries();
  await writeImage(layout, {
    reference,
    layers: [
      { name: "base", entries },
      { name: "Node", entries: [{ type: "file", path: "/usr/bin/node", mode: 0o755, source: NODE }] },
      { name: "app", entries: listFolder(app, "/app") },
    ],
    config: {
      User: `${IMAGE_USER.uid}:${IMAGE_USER.gid}`,
      WorkingDir: "/app",
      Env: ["PATH=/usr/bin"],
      Entrypoint: ["/usr/bin/node", "server.js"],
    },
  });
}
