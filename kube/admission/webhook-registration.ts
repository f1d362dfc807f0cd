// Keeps the certificates of webhooks in a Secret and their configuration current, on any number of replicas. Each replica performs due steps
// (resourceVersion rejects stale writes) and serves with the certificates of the Secret. Without a due step it writes nothing.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { Secret, ValidatingWebhookConfiguration } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import { isAlreadyExists, isConflict } from "../client/errors.ts";
import type { KeyPair } from "../server/pki.ts";
import type { OwnerReference } from "../api/object.ts";
import { apiVersionOf, type ObjectOf, type ResourceRef } from "../api/resource-ref.ts";
import type { Informers } from "../cache/informers.ts";
import {
  caBundleOf,
  parseSecretData,
  planRotation,
  applyRotationStep,
  toSecretData,
  type WebhookCertificates,
  type CertificateLifetimes,
} from "./webhook-certificates.ts";
import { addressIn, isApplied, toConfiguration, caBundleIn, type RegisteredWebhook } from "./webhook-configuration.ts";

export interface WebhookRegistrationOptions {
  client: KubeClient;
  informers: Informers;
  secret: { namespace: string; name: string };
  /** Name of the configuration. */
  configuration: string;
  /** At least one, all behind the certificate. The replica that started last decides their addresses for all. */
  webhooks: readonly RegisteredWebhook[];
  /** The cluster-wide object, where there is one, whose deletion takes the configuration with it. */
  owner: { ref: ResourceRef; name: string };
  /** Hosts of the serving certificate. */
  hosts: readonly string[];
  lifetimes: CertificateLifetimes;
  fieldManager: string;
  setCertificate: (pair: KeyPair) => void;
  now?: () => Date;
  signal: AbortSignal;
  log: Logger;
}

export interface WebhookRegistration {
  /** True when the webhook is served and configured; otherwise what is missing. */
  check(): true | string | { degraded: string };
  /** Never rejects. */
  readonly stopped: Promise<void>;
}

const RETRY_MS = 1_000;
const SYNC_MS = 1_000;
/** Bounds the effect of clock corrections. */
const MAX_WAIT_MS = 60_000;

export function startWebhookRegistration(options: WebhookRegistrationOptions): WebhookRegistration {
  const { signal } = options;
  const watch = watchWebhook(options);
  const health: Health = { problem: "not reconciled yet", hasFailed: false };
  const state: RegistrationState = { hasAnnouncedAddress: false, isRegistered: false };
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const changed = watch.nextChange();
      const wait = await tryReconcile(options, { watch, state, health });
      const timer = new AbortController();
      await Promise.race([
        changed,
        delay(Math.min(wait, MAX_WAIT_MS), undefined, { signal: timer.signal }).catch(() => undefined),
      ]);
      timer.abort();
    }
    watch.close();
  };
  return {
    check: () => health.problem === undefined || (health.hasFailed ? { degraded: health.problem } : health.problem),
    stopped: run(),
  };
}

interface WebhookWatch {
  /** Resolves at the next change, or when the registration stops. */
  nextChange(): Promise<void>;
  /** @throws Error that names the unreadable kinds */
  read(): Promise<LiveObjects>;
  close(): void;
}

function watchWebhook({ informers, secret, configuration, signal }: WebhookRegistrationOptions): WebhookWatch {
  const secrets = informers.ensure(Secret, {
    namespace: secret.namespace,
    fieldSelector: `metadata.name=${secret.name}`,
  });
  const configurations = informers.ensure(ValidatingWebhookConfiguration, {
    fieldSelector: `metadata.name=${configuration}`,
  });
  const stores = [secrets.store, configurations.store] as const;
  let nextSignal = Promise.withResolvers<void>();
  const notifyChange = (): void => nextSignal.resolve();
  const undo = stores.flatMap((store) => [store.onChange(notifyChange), store.onStateChange(notifyChange)]);
  signal.addEventListener("abort", notifyChange, { once: true });
  return {
    nextChange: () => (nextSignal = Promise.withResolvers<void>()).promise,
    async read() {
      const seen = await Promise.all(stores.map((store) => store.waitSynced(SYNC_MS)));
      if (!seen.every(Boolean))
        throw new Error(
          stores
            .filter(({ synced }) => !synced)
            .map((store) => `${store.ref.plural} ${store.parkReason ?? store.state}`)
            .join(", "),
        );
      return {
        secret: secrets.store.find(secret),
        configuration: configurations.store.find({ name: configuration }),
      };
    },
    close() {
      for (const each of undo) each();
      secrets.release();
      configurations.release();
    },
  };
}

interface Health {
  problem: string | undefined;
  hasFailed: boolean;
}

/** Reconciles once and never rejects. Returns how long to wait for a change. */
async function tryReconcile(
  options: WebhookRegistrationOptions,
  { watch, state, health }: { watch: WebhookWatch; state: RegistrationState; health: Health },
): Promise<number> {
  const { signal, log, configuration } = options;
  try {
    const wait = await reconcileOnce(options, state, await watch.read());
    health.problem = state.isRegistered ? undefined : "certificate and configuration are not complete";
    return wait;
  } catch (err) {
    const text = err instanceof Error ? err.message : String(err);
    if (text !== health.problem && !signal.aborted)
      log.warn({ err, configuration }, "the webhook registration failed; it is retried");
    health.problem = text;
    health.hasFailed = true;
    return RETRY_MS;
  }
}

interface RegistrationState {
  /** This replica has published its address; a later replica may publish another. */
  hasAnnouncedAddress: boolean;
  /** Served and configured at least once. */
  isRegistered: boolean;
}

interface LiveObjects {
  secret: ObjectOf<typeof Secret> | undefined;
  configuration: ObjectOf<typeof ValidatingWebhookConfiguration> | undefined;
}

/** Serves the certificates of the Secret and performs at most one due step. Returns when to reconcile again. */
async function reconcileOnce(
  options: WebhookRegistrationOptions,
  state: RegistrationState,
  seen: LiveObjects,
): Promise<number> {
  const { now = () => new Date(), hosts, lifetimes, webhooks, secret, setCertificate } = options;
  const held = parseSecretData(seen.secret?.data);
  if (held) {
    // Its authority was trusted before it signed.
    setCertificate(held.serving);
    if (await applyConfiguration(options, state, held, seen.configuration)) return RETRY_MS;
    state.isRegistered = true;
  }
  // All webhooks of an applied configuration trust the same authorities.
  const trustedBundle = caBundleIn(seen.configuration, webhooks[0]?.name ?? "");
  const situation = { now: now(), hosts, lifetimes, trustedBundle };
  const plan = planRotation(held, situation);
  if (plan.step === undefined) return plan.waitMs;
  await writeSecret(options, seen.secret, await applyRotationStep(plan.step, held, situation, secret.name));
  return RETRY_MS;
}

/** Returns whether it wrote. */
async function applyConfiguration(
  options: WebhookRegistrationOptions,
  state: RegistrationState,
  held: WebhookCertificates,
  seen: LiveObjects["configuration"],
): Promise<boolean> {
  const { client, fieldManager, signal } = options;
  const webhooks = options.webhooks.map((webhook) => ({
    ...webhook,
    address: (state.hasAnnouncedAddress && addressIn(seen, webhook.name)) || webhook.address,
  }));
  const wanted = toConfiguration(options.configuration, webhooks, caBundleOf(held));
  const hasOwner = (seen?.metadata.ownerReferences ?? []).length > 0;
  const isSame = isApplied(wanted, seen);
  // Another owner of that name comes with the deletion of the configuration.
  const owners = isSame && hasOwner ? [] : await findOwners(options);
  if (isSame && owners.length === 0) {
    state.hasAnnouncedAddress = true;
    return false;
  }
  const configuration = { ...wanted, metadata: { ...wanted.metadata, ownerReferences: owners } };
  await client.apply(ValidatingWebhookConfiguration, configuration, { fieldManager, force: true, signal });
  return true;
}

async function findOwners({ client, owner, signal }: WebhookRegistrationOptions): Promise<OwnerReference[]> {
  const { ref, name } = owner;
  const found = await client.find(ref, { name }, { signal });
  if (!found?.metadata.uid) return [];
  return [{ apiVersion: apiVersionOf(ref), kind: ref.kind, name, uid: found.metadata.uid }];
}

/** Writes over the observed version only: one replica wins, the others serve what it wrote. */
async function writeSecret(
  { client, secret, fieldManager, signal }: WebhookRegistrationOptions,
  seen: LiveObjects["secret"],
  next: WebhookCertificates,
): Promise<void> {
  const draft = { metadata: { ...secret }, type: "Opaque", data: toSecretData(next) };
  try {
    if (!seen) await client.create(Secret, draft, { fieldManager, signal });
    else await client.update(Secret, { ...draft, metadata: { ...seen.metadata } }, { fieldManager, signal });
  } catch (error) {
    if (!isAlreadyExists(error) && !isConflict(error)) throw error;
  }
}
