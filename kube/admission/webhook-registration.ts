// Keeps a webhook's certificates in a Secret and its configuration in the cluster, on any number of replicas: each follows both, does what is due
// (a write from an old view is refused by its resourceVersion), and serves with what the Secret holds. Nothing is written when nothing is due.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { Secret, ValidatingWebhookConfiguration } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import { isAlreadyExists, isConflict } from "../client/errors.ts";
import type { KeyPair } from "../server/pki.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import type { Watches } from "../cache/informers.ts";
import { bundleOf, fromSecretData, planCertificates, takeStep, toSecretData, type Certificates, type Periods } from "./webhook-certificates.ts";
import { addressIn, isInForce, toConfiguration, trustedIn, type WebhookAddress, type WebhookScope } from "./webhook-configuration.ts";

export interface KeeperOptions {
  client: KubeClient;
  watches: Watches;
  secret: { namespace: string; name: string };
  names: { configuration: string; webhook: string };
  scope: WebhookScope;
  /** Where this replica says that the webhook is. The last one that starts says it for all. */
  address: WebhookAddress;
  /** What the certificate must be good for. */
  hosts: readonly string[];
  periods: Periods;
  fieldManager: string;
  serve: (pair: KeyPair) => void;
  now?: () => Date;
  signal: AbortSignal;
  log: Logger;
}

export interface Keeper {
  /** True when it serves and is configured; else what it waits for. */
  answer(): true | string | { degraded: string };
  /** Never rejects. */
  readonly stopped: Promise<void>;
}

const RETRY_MS = 1_000;
const SYNC_MS = 1_000;
/** Clocks are corrected now and then. */
const MAX_WAIT_MS = 60_000;

export function keepWebhook(options: KeeperOptions): Keeper {
  const { signal } = options;
  const sight = follow(options);
  const health: Health = { problem: "not looked at yet", tried: false };
  const state: State = { announced: false, done: false };
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const changed = sight.nextChange();
      const wait = await look(options, { sight, state, health });
      const rest = new AbortController();
      await Promise.race([changed, delay(Math.min(wait, MAX_WAIT_MS), undefined, { signal: rest.signal }).catch(() => undefined)]);
      rest.abort();
    }
    sight.close();
  };
  return {
    answer: () => health.problem === undefined || (health.tried ? { degraded: health.problem } : health.problem),
    stopped: run(),
  };
}

interface Sight {
  /** Resolves at the first change from now on, or at the end. */
  nextChange(): Promise<void>;
  /** @throws Error that names what cannot be seen */
  see(): Promise<Seen>;
  close(): void;
}

function follow({ watches, secret, names, signal }: KeeperOptions): Sight {
  const secrets = watches.ensure(Secret, { namespace: secret.namespace, fieldSelector: `metadata.name=${secret.name}` });
  const configurations = watches.ensure(ValidatingWebhookConfiguration, { fieldSelector: `metadata.name=${names.configuration}` });
  const stores = [secrets.store, configurations.store] as const;
  let bell = Promise.withResolvers<void>();
  const ring = (): void => bell.resolve();
  const undo = stores.flatMap((store) => [store.onChange(ring), store.onState(ring)]);
  signal.addEventListener("abort", ring, { once: true });
  return {
    nextChange: () => (bell = Promise.withResolvers<void>()).promise,
    async see() {
      const seen = await Promise.all(stores.map((store) => store.waitSynced(SYNC_MS)));
      if (!seen.every(Boolean)) throw new Error(stores.filter(({ synced }) => !synced).map((store) => `${store.ref.plural} ${store.parkReason ?? store.state}`).join(", "));
      return { secret: secrets.store.find(secret), configuration: configurations.store.find({ name: names.configuration }) };
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
  tried: boolean;
}

/** One look, which never rejects. Answers how long to wait for a change. */
async function look(options: KeeperOptions, { sight, state, health }: { sight: Sight; state: State; health: Health }): Promise<number> {
  const { signal, log, names } = options;
  try {
    const wait = await tend(options, state, await sight.see());
    health.problem = state.done ? undefined : "its certificate and configuration are being made";
    return wait;
  } catch (err) {
    const text = err instanceof Error ? err.message : String(err);
    if (text !== health.problem && !signal.aborted) log.warn({ err, webhook: names.webhook }, "the webhook is not in order; it is tried again");
    Object.assign(health, { problem: text, tried: true });
    return RETRY_MS;
  }
}

interface State {
  /** This replica's address has been in the configuration; whoever starts later may say another. */
  announced: boolean;
  /** Served and configured at least once. */
  done: boolean;
}

type ObjectOf<R> = R extends ResourceRef<infer T> ? T : never;

interface Seen {
  secret: ObjectOf<typeof Secret> | undefined;
  configuration: ObjectOf<typeof ValidatingWebhookConfiguration> | undefined;
}

/** One look: serves with what there is, and does at most one thing that is due. Answers when to look again, unless something changes. */
async function tend(options: KeeperOptions, state: State, seen: Seen): Promise<number> {
  const { now = () => new Date(), hosts, periods, names, serve } = options;
  const held = fromSecretData(seen.secret?.data);
  if (held) {
    // What signed it was trusted before it got there.
    serve(held.serving);
    if (await configure(options, state, held, seen.configuration)) return RETRY_MS;
    state.done = true;
  }
  const situation = { now: now(), hosts, periods, trusted: trustedIn(seen.configuration, names.webhook) };
  const plan = planCertificates(held, situation);
  if (plan.step === undefined) return plan.waitMs;
  await keep(options, seen.secret, await takeStep(plan.step, held, situation, names.webhook));
  return RETRY_MS;
}

/** Whether it wrote. */
async function configure({ client, names, scope, address, fieldManager, signal }: KeeperOptions, state: State, held: Certificates, seen: Seen["configuration"]): Promise<boolean> {
  const wanted = toConfiguration(names, scope, (state.announced && addressIn(seen, names.webhook)) || address, bundleOf(held));
  if (isInForce(wanted, seen)) {
    state.announced = true;
    return false;
  }
  await client.apply(ValidatingWebhookConfiguration, wanted, { fieldManager, force: true, signal });
  return true;
}

/** Only over the version that was seen: of several replicas one writes, and the others serve what it wrote. */
async function keep({ client, secret, fieldManager, signal }: KeeperOptions, seen: Seen["secret"], next: Certificates): Promise<void> {
  const draft = { metadata: { ...secret }, type: "Opaque", data: toSecretData(next) };
  try {
    if (!seen) await client.create(Secret, draft, { fieldManager, signal });
    else await client.update(Secret, { ...draft, metadata: { ...seen.metadata } }, { fieldManager, signal });
  } catch (error) {
    if (!isAlreadyExists(error) && !isConflict(error)) throw error;
  }
}
