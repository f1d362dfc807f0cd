// Pushes an image layout to a node's registry, with the platform's own client.
import { parseImageName } from "../../../blobs/registry/image-name.ts";
import { pushLayout } from "../../../blobs/registry/push-layout.ts";
import { createRegistryClient } from "../../../blobs/registry/registry-client.ts";

/** A registry as `TestNode.registry` names it. */
interface PushTarget {
  host: string;
  username: string;
  password: string;
}

/** Pushes the one image of `layout` (a folder that `writeImage` wrote) as `<host>/<name>`; `name` ends in a tag. Returns its digest. */
export async function pushImage(layout: string, name: string, registry: PushTarget): Promise<string> {
  const { host, username, password } = registry;
  const client = createRegistryClient({
    credentials: () => Promise.resolve({ username, password }),
    insecureHosts: [host],
  });
  try {
    return await pushLayout(client, layout, parseImageName(`${host}/${name}`));
  } finally {
    await client.close();
  }
}
