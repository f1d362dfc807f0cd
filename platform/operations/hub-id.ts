// The id by which this platform marks what it keeps on other clusters.
import { randomUUID } from "node:crypto";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isAlreadyExists } from "../../kube/client/errors.ts";

/** Secret in the system namespace with the platform's id, for as long as its backups live. It exists once there is a Cluster, and holds nothing secret. */
export const HUB_SECRET = "cupola-hub";

/** The id of this platform; made when there is none. */
export async function readHubId(client: KubeClient): Promise<string> {
  const key = { namespace: SYSTEM_NAMESPACE, name: HUB_SECRET };
  const found = await client.find(Secret, key);
  if (found) return idOf(found);
  const data = { id: Buffer.from(randomUUID()).toString("base64") };
  try {
    return idOf(await client.create(Secret, { metadata: key, type: "Opaque", data }));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return idOf(await client.get(Secret, key));
  }
}

/** @throws Error when it cannot be a label's value */
function idOf({ data }: { data?: Readonly<Record<string, string>> | undefined }): string {
  const id = Buffer.from(data?.["id"] ?? "", "base64").toString("utf8");
  if (!/^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$/.test(id))
    throw new Error(`Secret ${HUB_SECRET} of namespace ${SYSTEM_NAMESPACE} has no key id; restore it from a backup`);
  return id;
}
