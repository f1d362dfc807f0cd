// Stores a buildpack in a cluster's registry as the API does with an upload.
import { Readable } from "node:stream";
import { packMembers } from "../../../blobs/archive/tar.ts";
import type { Blob } from "../../../blobs/blob-store.ts";
import { createRegistryClient } from "../../../blobs/registry/registry-client.ts";
import { createRegistryStore } from "../../../blobs/registry/registry-store.ts";
import { BUILDPACK_BLOBS } from "../../../crds/buildpack/buildpack.ts";
import type { TestCluster } from "../../cluster/given/given-cluster.ts";

/** Takes any app with a file `mark`, and starts its server.js. */
export const MARK_BUILDPACK: Readonly<Record<string, string>> = {
  "buildpack.toml": 'api = "0.10"\n[buildpack]\nid = "me/mark"\nversion = "1.2.3"\n[[targets]]\nos = "linux"\n',
  "bin/detect": "#!/bin/sh\ntest -f mark || exit 100\n",
  "bin/build": `#!/bin/sh
set -e
printf '[[processes]]\\ntype = "web"\\ncommand = ["node", "server.js"]\\ndefault = true\\n' > "$CNB_LAYERS_DIR/launch.toml"
`,
};

/** @returns the content of a Buildpack's spec */
export async function storeBuildpack(
  { registry }: Pick<TestCluster, "registry">,
  files: Readonly<Record<string, string>>,
): Promise<Blob> {
  const { host, username, password } = registry;
  const client = createRegistryClient({
    credentials: () => Promise.resolve({ username, password }),
    insecureHosts: [host],
  });
  const members = Object.entries(files).map(([path, text]) => ({
    path,
    type: "file" as const,
    mode: 0o644,
    size: Buffer.byteLength(text),
    content: () => Readable.from([text]),
  }));
  try {
    const store = createRegistryStore({ client, prefix: { host, path: "cf" } });
    return await store.put(BUILDPACK_BLOBS, "package", packMembers(members), { maxBytes: 2 ** 20 });
  } finally {
    await client.close();
  }
}
