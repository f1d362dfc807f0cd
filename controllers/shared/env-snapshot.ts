// A snapshot of an app's environment: secret values are copied into an immutable Secret named by a keyed digest of them, so that
// no custom resource contains a value and equal environments have equal names.
import { createHmac } from "node:crypto";
import type { App } from "../../crds/app/app.ts";
import { isAppSecret } from "../../crds/app/env-secret.ts";
import type { EnvVar } from "../../crds/schema-fields.ts";
import { InstallationKey } from "../../crds/installation-key.ts";
import { INTERNAL_LABELS, LABELS } from "../../crds/labels.ts";
import { Secret } from "../../kube/api/builtin.ts";
import { isAlreadyExists, isForbidden } from "../../kube/client/errors.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { NotReady, Stalled } from "../../kube/controller/controller.ts";
import { Task } from "../../crds/task/task.ts";
import type { OwnerReference } from "../../kube/api/object.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import { toOwnerReference } from "./app-owned.ts";

export type SecretObject = ObjectOf<typeof Secret>;

/** Bytes of environment per app. */
export const MAX_ENV_BYTES = 512 * 1024;
/** The key of the digests. */
export const ENV_KEY = new InstallationKey("cupola-env-key");
/** A missing or refused Secret is read again after this time, since no informer watches Secrets. */
const RECHECK_MS = 10_000;
/** A refusal is tried again after this time: a new binding counts within moments. */
const RBAC_RECHECK_MS = 1000;

/**
 * May this app's environment use this Secret? Only the app's own, identified by name and GUID label, or one labelled for use in
 * environments: a controller must not read a Secret for a user who may not.
 */
export function isSecretAllowed(secret: SecretObject, app: string, guid: string): boolean {
  return secret.metadata.labels?.[INTERNAL_LABELS.envAllowed] === "allowed" || isAppSecret(secret, app, guid);
}

/** An environment for Revisions and Stagings, and its Secret (none when no value is secret). */
export interface EnvSnapshot {
  env: EnvVar[];
  secret?: { name: string; data: Record<string, string> };
}

/** `secretValues`: base64 data by name, of the variables that refer to a Secret. `scope`: equal environments of other scopes have other names. Pure. */
export function planEnv(
  { app, scope }: { app: string; scope?: string | undefined },
  env: readonly EnvVar[],
  secretValues: ReadonlyMap<string, string>,
  key: Uint8Array,
): EnvSnapshot {
  const data = Object.fromEntries(
    env
      .filter((variable) => variable.valueFrom)
      .map((variable): [string, string] => [toSecretKey(variable.name), secretValues.get(variable.name) ?? ""])
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  if (Object.keys(data).length === 0) return { env: env.map((variable) => ({ ...variable })) };
  const digest = createHmac("sha256", key)
    .update(JSON.stringify(scope === undefined ? [app, data] : [app, data, scope]))
    .digest("hex")
    .slice(0, 16);
  const name = `${app.slice(0, 30).replace(/-+$/, "")}-env-${digest}`;
  const toReference = (variable: EnvVar): EnvVar =>
    variable.valueFrom
      ? { name: variable.name, valueFrom: { secretKeyRef: { name, key: toSecretKey(variable.name) } } }
      : { ...variable };
  return { env: env.map(toReference), secret: { name, data } };
}

/** A variable's name as a key of a Secret, which takes fewer characters. Not every server takes `__proto__`. */
export function toSecretKey(variable: string): string {
  return /^(?!__proto__$)[A-Za-z0-9_-][-._A-Za-z0-9]{0,252}$/.test(variable)
    ? variable
    : `x-${Buffer.from(variable).toString("hex").slice(0, 250)}`;
}

/**
 * Reads the Secrets that an app's environment names, and keeps the snapshot's Secret: as long as the app, whose Revisions share it, or of `task` alone
 * and as long as that.
 * @throws NotReady when a Secret or key is missing or not allowed; Stalled when the environment is too large
 */
export async function snapshotEnv(app: App, guid: string, client: KubeClient, task?: Task): Promise<EnvSnapshot> {
  return await whileSecretsAllowed(app.metadata.namespace ?? "", async () => {
    const values = await readSecretValues(app, guid, client);
    checkEnvSize(app.spec.env, values);
    return await keepEnv({ app, guid, client, task }, app.spec.env, values);
  });
}

/** @throws NotReady when the platform may not use Secrets of the namespace yet */
export async function whileSecretsAllowed<T>(namespace: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isForbidden(error)) throw error;
    throw new NotReady(
      "SecretsForbidden",
      `the platform may not use Secrets of namespace ${namespace}: the Space's controller binds its roles there, in a new space within moments`,
      { requeueAfterMs: RBAC_RECHECK_MS, cause: error },
    );
  }
}

/** Whose snapshot it is: the app's, or that of a task alone. */
export interface EnvOwner {
  app: App;
  guid: string;
  client: KubeClient;
  task?: Task | undefined;
}

/** Keeps the Secret of a snapshot, if it needs one. `values`: base64 data by name, of the variables that refer to a Secret. */
export async function keepEnv(
  owner: EnvOwner,
  env: readonly EnvVar[],
  values: ReadonlyMap<string, string>,
): Promise<EnvSnapshot> {
  const { app, client, task } = owner;
  const key = env.some((variable) => variable.valueFrom) ? await ENV_KEY.get(client) : new Uint8Array();
  const snapshot = planEnv({ app: app.metadata.name, scope: task?.metadata.uid }, env, values, key);
  if (snapshot.secret)
    await ensureSecret(task ? toOwnerReference(task, Task) : toOwnerReference(app), snapshot.secret, owner);
  return snapshot;
}

async function readSecretValues(app: App, guid: string, client: KubeClient): Promise<Map<string, string>> {
  const secrets = new Map<string, SecretObject>();
  const values = new Map<string, string>();
  for (const { name, valueFrom } of app.spec.env) {
    if (!valueFrom) continue;
    const ref = valueFrom.secretKeyRef;
    const secret = secrets.get(ref.name) ?? (await getAllowedSecret(app, guid, ref.name, client));
    secrets.set(ref.name, secret);
    const value = Object.hasOwn(secret.data ?? {}, ref.key) ? secret.data?.[ref.key] : undefined;
    if (value === undefined)
      throw new NotReady(
        "SecretMissing",
        `Secret ${ref.name} has no key ${ref.key}, which variable ${name} names; add the key, or change the app's variables`,
        {
          isFailure: true,
          requeueAfterMs: RECHECK_MS,
        },
      );
    values.set(name, value);
  }
  return values;
}

async function getAllowedSecret(app: App, guid: string, name: string, client: KubeClient): Promise<SecretObject> {
  const secret = await client.find(Secret, { namespace: app.metadata.namespace, name });
  if (secret && isSecretAllowed(secret, app.metadata.name, guid)) return secret;
  // "Absent" and "not allowed" give the same answer, so that it does not reveal names of Secrets.
  const message = `Secret ${name} does not exist, or is neither this app's own nor labelled ${INTERNAL_LABELS.envAllowed}=allowed; create or label it, or change the app's variables`;
  throw new NotReady("SecretNotAllowed", message, { isFailure: true, requeueAfterMs: RECHECK_MS });
}

function checkEnvSize(env: readonly EnvVar[], secretValues: ReadonlyMap<string, string>): void {
  const size = (variable: EnvVar): number =>
    Buffer.byteLength(variable.name) +
    (variable.value === undefined
      ? Buffer.byteLength(secretValues.get(variable.name) ?? "", "base64")
      : Buffer.byteLength(variable.value));
  const bytes = env.reduce((sum, variable) => sum + size(variable), 0);
  if (bytes > MAX_ENV_BYTES)
    throw new Stalled("EnvironmentTooLarge", `the environment has ${bytes} bytes; an app may have ${MAX_ENV_BYTES}`);
}

async function ensureSecret(
  owner: OwnerReference,
  secret: { name: string; data: Record<string, string> },
  { app, guid, client }: EnvOwner,
): Promise<void> {
  const { namespace } = app.metadata;
  const metadata = { name: secret.name, namespace, labels: { [LABELS.app]: guid }, ownerReferences: [owner] };
  if (await client.find(Secret, { namespace, name: secret.name })) return;
  try {
    await client.create(Secret, { metadata, type: "Opaque", immutable: true, data: secret.data });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
