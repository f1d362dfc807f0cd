// A secret key of the installation: in a Secret of the system namespace, which the first process that needs it creates and others read.
import { randomBytes } from "node:crypto";
import { Secret } from "../kube/api/builtin.ts";
import type { ObjectOf } from "../kube/api/resource-ref.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isAlreadyExists } from "../kube/client/errors.ts";
import { SYSTEM_NAMESPACE } from "./groups.ts";

const KEY_BYTES = 32;
/** Deadline for reading the key, milliseconds. All requests share the key, so no single request's deadline applies. */
const DEADLINE_MS = 10_000;

export class InstallationKey {
  readonly secretName: string;
  /** By client: each process has its own. */
  readonly #keys = new WeakMap<KubeClient, Promise<Uint8Array>>();

  constructor(secretName: string) {
    this.secretName = secretName;
  }

  /** The key, read once per process and created when missing. @throws KubeError; Error when the Secret holds no key */
  get(client: KubeClient): Promise<Uint8Array> {
    return this.#keys.get(client) ?? this.#remember(client, this.#read(client));
  }

  /**
   * Reads it again. A Secret that was deleted is created with the key that this process knows, so that whatever was signed with it stays
   * valid; a key that others have made meanwhile is used from now on. @throws as `get`
   */
  async refresh(client: KubeClient): Promise<void> {
    const known = await this.get(client);
    const current = await this.#read(client, known);
    if (!Buffer.from(current).equals(known)) await this.#remember(client, Promise.resolve(current));
  }

  #remember(client: KubeClient, reading: Promise<Uint8Array>): Promise<Uint8Array> {
    const kept = reading.catch((error: unknown) => {
      this.#keys.delete(client);
      throw error;
    });
    this.#keys.set(client, kept);
    return kept;
  }

  async #read(client: KubeClient, known: Uint8Array = randomBytes(KEY_BYTES)): Promise<Uint8Array> {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const at = { namespace: SYSTEM_NAMESPACE, name: this.secretName };
    const { data } = (await client.find(Secret, at, { signal })) ?? (await create(client, at, { known, signal }));
    const key = Buffer.from(data?.["key"] ?? "", "base64");
    if (key.length < KEY_BYTES)
      throw new Error(
        `the Secret ${at.namespace}/${at.name} holds no key of ${KEY_BYTES} bytes: delete it, and it is made again`,
      );
    return key;
  }
}

async function create(
  client: KubeClient,
  at: { namespace: string; name: string },
  { known, signal }: { known: Uint8Array; signal: AbortSignal },
): Promise<ObjectOf<typeof Secret>> {
  const data = { key: Buffer.from(known).toString("base64") };
  try {
    return await client.create(Secret, { metadata: at, type: "Opaque", immutable: true, data }, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return client.get(Secret, at, { signal });
  }
}
