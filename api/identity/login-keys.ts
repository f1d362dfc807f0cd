// The keys of login tokens: one pair per installation, in a Secret of the system namespace that the first replica creates, and the pair before it.
import { createPrivateKey, createPublicKey, generateKeyPair, hash, type KeyObject, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { z } from "zod";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isAlreadyExists, isConflict } from "../../kube/client/errors.ts";

/** Key ids of login tokens begin so: other tokens are left to Kubernetes. */
export const LOGIN_KEY_ID = "cupola-login-";
const SECRET_NAME = "cupola-login-key";
const SEALING_BYTES = 32;
const MODULUS_BITS = 2048;
/** Deadline for reading the keys, milliseconds. All requests share them, so no single request's deadline applies. */
const DEADLINE_MS = 10_000;
const ATTEMPTS = 3;

/** A signing key and a sealing key that were made together. */
export interface LoginKeyPair {
  id: string;
  /** Private, RSA. */
  signing: KeyObject;
  /** The public part of `signing`. */
  verifying: KeyObject;
  sealing: Uint8Array;
}

/** New tokens use `current`; tokens of `previous` stay valid. */
export interface LoginKeys {
  current: LoginKeyPair;
  previous: LoginKeyPair | undefined;
}

const storedPair = z.object({
  /** PEM. */
  signing: z.string(),
  sealing: z.string().refine((text) => Buffer.from(text, "base64url").length === SEALING_BYTES),
});

type SecretObject = ObjectOf<typeof Secret>;
type Stored = Partial<Record<"current" | "previous", string>>;

interface Read {
  stored: Stored;
  keys: LoginKeys;
}

/** Caches the keys by client: each process has its own. */
class LoginKeyStore {
  readonly secretName = SECRET_NAME;
  readonly #read = new WeakMap<KubeClient, Promise<Read>>();

  /** The keys, read once per process and created when missing. @throws KubeError; Error when the Secret holds no keys */
  async get(client: KubeClient): Promise<LoginKeys> {
    return (await (this.#read.get(client) ?? this.#remember(client, readKeys(client)))).keys;
  }

  /** Reads them again. A Secret that was deleted is created with the keys that this process knows; other keys are used from now on. @throws as `get` */
  async refresh(client: KubeClient): Promise<void> {
    await this.get(client);
    const known = await this.#read.get(client);
    const read = await readKeys(client, known?.stored);
    await this.#remember(client, Promise.resolve(read));
  }

  #remember(client: KubeClient, reading: Promise<Read>): Promise<Read> {
    const kept = reading.catch((error: unknown) => {
      this.#read.delete(client);
      throw error;
    });
    this.#read.set(client, kept);
    return kept;
  }
}

export const LOGIN_KEYS = new LoginKeyStore();

async function readKeys(client: KubeClient, known: Stored = {}): Promise<Read> {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  for (let attempt = 1; ; attempt += 1) {
    const secret = await client.find(Secret, { namespace: SYSTEM_NAMESPACE, name: SECRET_NAME }, { signal });
    const stored = toStored(secret);
    if (stored.current !== undefined) return { stored, keys: parseKeys(stored) };
    try {
      // A Secret without a current pair is one whose keys an operator rotates.
      const added = secret ? { current: await createPair() } : { current: await createPair(), ...known };
      await write(client, secret, { ...stored, ...added }, signal);
    } catch (error) {
      // Another replica was first: read what it wrote.
      if (attempt === ATTEMPTS || !(isAlreadyExists(error) || isConflict(error))) throw error;
    }
  }
}

function write(
  client: KubeClient,
  secret: SecretObject | undefined,
  stored: Stored,
  signal: AbortSignal,
): Promise<unknown> {
  const data = Object.fromEntries(
    Object.entries(stored).map(([name, text]) => [name, Buffer.from(text).toString("base64")]),
  );
  if (secret) return client.update(Secret, { ...secret, data }, { signal });
  const metadata = { namespace: SYSTEM_NAMESPACE, name: SECRET_NAME };
  return client.create(Secret, { metadata, type: "Opaque", data }, { signal });
}

function toStored(secret: SecretObject | undefined): Stored {
  const decode = (name: "current" | "previous"): Stored => {
    const text = secret?.data?.[name];
    return text === undefined ? {} : { [name]: Buffer.from(text, "base64").toString("utf8") };
  };
  return { ...decode("current"), ...decode("previous") };
}

function parseKeys({ current, previous }: Stored): LoginKeys {
  return { current: parsePair(current ?? ""), previous: previous === undefined ? undefined : parsePair(previous) };
}

function parsePair(text: string): LoginKeyPair {
  try {
    const stored = storedPair.parse(JSON.parse(text));
    const signing = createPrivateKey(stored.signing);
    const verifying = createPublicKey(signing);
    const id =
      LOGIN_KEY_ID + hash("sha256", verifying.export({ format: "der", type: "spki" }), "base64url").slice(0, 16);
    return { id, signing, verifying, sealing: Buffer.from(stored.sealing, "base64url") };
  } catch {
    // The cause would quote the keys.
    throw new Error(
      `the Secret ${SYSTEM_NAMESPACE}/${SECRET_NAME} holds no keys of logins: delete it, and it is made again`,
    );
  }
}

async function createPair(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: MODULUS_BITS });
  return JSON.stringify({
    signing: privateKey.export({ format: "pem", type: "pkcs8" }),
    sealing: randomBytes(SEALING_BYTES).toString("base64url"),
  });
}
