// The key that signs job GUIDs: one per installation, in a Secret that the first replica creates.
import { randomBytes } from "node:crypto";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isAlreadyExists } from "../../kube/client/errors.ts";

/** Its name, in the system namespace. */
export const JOB_KEY_SECRET = "cupola-job-key";
const AT = { namespace: SYSTEM_NAMESPACE, name: JOB_KEY_SECRET };
const KEY_BYTES = 32;
/** Deadline for reading the key, milliseconds. All requests share the key, so no single request's deadline applies. */
const DEADLINE_MS = 10_000;

const keys = new WeakMap<KubeClient, Promise<Uint8Array>>();

/** The key, read once per process and created when missing. `client` is the platform's own. */
export function getJobKey(client: KubeClient): Promise<Uint8Array> {
  const known = keys.get(client);
  if (known) return known;
  const reading = readKey(client).catch((error: unknown) => {
    keys.delete(client);
    throw error;
  });
  keys.set(client, reading);
  return reading;
}

async function readKey(client: KubeClient): Promise<Uint8Array> {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const { data } = (await client.find(Secret, AT, { signal })) ?? (await createKey(client, signal));
  const key = Buffer.from(data?.["key"] ?? "", "base64");
  if (key.length < KEY_BYTES)
    throw new Error(`Secret ${AT.namespace}/${AT.name} holds no key of ${KEY_BYTES} bytes; delete it to get a new one`);
  return key;
}

async function createKey(client: KubeClient, signal: AbortSignal): Promise<ObjectOf<typeof Secret>> {
  const data = { key: randomBytes(KEY_BYTES).toString("base64") };
  try {
    return await client.create(Secret, { metadata: AT, type: "Opaque", immutable: true, data }, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return client.get(Secret, AT, { signal });
  }
}
