// Keys of the installation that an operator rotates: a current and a previous value in one Secret of the system namespace, which the first process that needs it creates.
import { Secret } from "../kube/api/builtin.ts";
import type { ObjectOf } from "../kube/api/resource-ref.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isAlreadyExists, isConflict } from "../kube/client/errors.ts";
import { SYSTEM_NAMESPACE } from "./groups.ts";

/** Deadline for reading the Secret, milliseconds. All requests share its values, so no single request's deadline applies. */
const DEADLINE_MS = 10_000;
const ATTEMPTS = 3;

/** New signatures and tokens use `current`; those of `previous` stay valid. */
export interface Rotated<T> {
  current: T;
  previous: T | undefined;
}

export interface RotatedSecretOptions<T> {
  secretName: string;
  /** The values, for errors. */
  what: string;
  /** A new value as the Secret keeps it. */
  create: () => Promise<string> | string;
  /** Undefined or an exception for a text that is no value; its message is not shown. */
  parse: (text: string) => T | undefined;
}

type SecretObject = ObjectOf<typeof Secret>;
type Stored = Partial<Record<"current" | "previous", string>>;

interface Read<T> {
  stored: Stored;
  values: Rotated<T>;
}

/** Caches the values by client: each process has its own. */
export class RotatedSecret<T> {
  readonly secretName: string;
  readonly #options: RotatedSecretOptions<T>;
  readonly #read = new WeakMap<KubeClient, Promise<Read<T>>>();

  constructor(options: RotatedSecretOptions<T>) {
    this.secretName = options.secretName;
    this.#options = options;
  }

  /** The values, read once per process and created when missing. @throws KubeError; Error when the Secret holds none */
  async get(client: KubeClient): Promise<Rotated<T>> {
    return (await (this.#read.get(client) ?? this.#remember(client, this.#readFrom(client)))).values;
  }

  /** Reads them again. A Secret that was deleted is created with the values that this process knows; other values are used from now on. @throws as `get` */
  async refresh(client: KubeClient): Promise<void> {
    await this.get(client);
    const known = await this.#read.get(client);
    const read = await this.#readFrom(client, known?.stored);
    await this.#remember(client, Promise.resolve(read));
  }

  #remember(client: KubeClient, reading: Promise<Read<T>>): Promise<Read<T>> {
    const kept = reading.catch((error: unknown) => {
      this.#read.delete(client);
      throw error;
    });
    this.#read.set(client, kept);
    return kept;
  }

  async #readFrom(client: KubeClient, known: Stored = {}): Promise<Read<T>> {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const at = { namespace: SYSTEM_NAMESPACE, name: this.secretName };
    for (let attempt = 1; ; attempt += 1) {
      const secret = await client.find(Secret, at, { signal });
      const stored = toStored(secret);
      if (stored.current !== undefined) return { stored, values: this.#parse(stored.current, stored.previous) };
      try {
        // A Secret without a current value is one whose values an operator rotates.
        const added = { current: await this.#options.create(), ...(!secret && known) };
        await write(client, secret ?? this.secretName, { data: { ...stored, ...added }, signal });
      } catch (error) {
        // Another replica was first: read what it wrote.
        if (attempt === ATTEMPTS || !(isAlreadyExists(error) || isConflict(error))) throw error;
      }
    }
  }

  #parse(current: string, previous: string | undefined): Rotated<T> {
    return {
      current: this.#parseOne(current),
      previous: previous === undefined ? undefined : this.#parseOne(previous),
    };
  }

  #parseOne(text: string): T {
    const { what, parse } = this.#options;
    let value: T | undefined;
    try {
      value = parse(text);
    } catch {
      // The cause would quote the value.
    }
    if (value !== undefined) return value;
    throw new Error(
      `the Secret ${SYSTEM_NAMESPACE}/${this.secretName} holds no ${what}: delete it, and it is made again`,
    );
  }
}

function write(
  client: KubeClient,
  secret: SecretObject | string,
  { data, signal }: { data: Stored; signal: AbortSignal },
): Promise<unknown> {
  const encoded = Object.fromEntries(
    Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString("base64")]),
  );
  if (typeof secret !== "string") return client.update(Secret, { ...secret, data: encoded }, { signal });
  const metadata = { namespace: SYSTEM_NAMESPACE, name: secret };
  return client.create(Secret, { metadata, type: "Opaque", data: encoded }, { signal });
}

function toStored(secret: SecretObject | undefined): Stored {
  const decode = (name: "current" | "previous"): Stored => {
    const text = secret?.data?.[name];
    return text === undefined ? {} : { [name]: Buffer.from(text, "base64").toString("utf8") };
  };
  return { ...decode("current"), ...decode("previous") };
}
