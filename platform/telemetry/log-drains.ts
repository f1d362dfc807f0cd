// The elected part of the operation `log-drains`: sends the logs of apps to the drains of their bound services.
import { setTimeout as delay } from "node:timers/promises";
import pLimit from "p-limit";
import type { Logger } from "pino";
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { TENANCY_KINDS } from "../../controllers/shared/tenancy.ts";
import { ConfigMap, Secret } from "../../kube/api/builtin.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { isUnreadable } from "../../kube/cache/errors.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { LIST_WATCH_VERBS } from "../../kube/controller/permissions.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { AppDrains, type WantedDrain } from "../../telemetry/drains/app-drains.ts";
import type { DrainedApp } from "../../telemetry/drains/syslog-message.ts";
import { findLiveMembers } from "../leases/replica-membership.ts";
import { toSingleton, type Singleton } from "../leases/singletons.ts";
import type { PeerServers, PlatformContext } from "../platform-context.ts";
import { startAppLog } from "./app-log.ts";
import { listTelemetryAddresses } from "./replica-logs.ts";
import { chooseDrains, MAX_DRAINS, MAX_DRAINS_OF_APP } from "./drain-limits.ts";
import { createTelemetryClient } from "./telemetry-client.ts";
import {
  listCandidates,
  readDrain,
  versionOf,
  type Candidate,
  type DrainSources,
  type FoundDrain,
  type RefusedDrain,
} from "./wanted-drains.ts";

const KINDS: readonly ResourceRef[] = [
  App,
  BackendClass,
  ServiceBinding,
  ServiceInstance,
  ServicePlan,
  ServiceOffering,
  ...TENANCY_KINDS,
];

export const LOG_DRAIN_PERMISSIONS: readonly Permission[] = [
  ...[...KINDS, ConfigMap].map((resource): Permission => ({ resource, verbs: LIST_WATCH_VERBS })),
  { resource: Secret, verbs: ["get"] },
];

/** Between two looks at the bindings, which are in memory. */
const LOOK_MS = 2_000;
/** After this time a drain's Secrets are read again, as no informer watches them. */
const REREAD_MS = 60_000;
/** Drains whose Secrets are read at once. */
const READS = 8;
/** For one Secret, and for all that one look reads: the others are read at the next look. */
const READ_MS = 5_000;
const READ_ALL_MS = 30_000;

type Context = Pick<PlatformContext, "informers" | "membership" | "log" | "options" | "disposables">;

export function createLogDrains(context: Context, peerServers: PeerServers): Singleton | undefined {
  const appLog = startAppLog(context, peerServers);
  const tell = ({ guid, name }: DrainedApp, message: string): void =>
    appLog({ source: guid, sourceType: "LGR", stream: "ERR", message, tags: { app_id: guid, app_name: name } });
  return toSingleton(
    "log-drains",
    [],
    [{ reads: KINDS, start: (signal, client) => keepDrains({ context, client, tell }, signal) }],
  );
}

interface Keeper {
  context: Context;
  client: KubeClient;
  tell: (app: DrainedApp, message: string) => void;
}

async function keepDrains({ context, client, tell }: Keeper, signal: AbortSignal): Promise<void> {
  const { informers, membership, log } = context;
  const members = () => findLiveMembers(membership) ?? [];
  const settings = informers.ensure(ConfigMap, { namespace: SYSTEM_NAMESPACE });
  const telemetry = createTelemetryClient({
    informers,
    log,
    addresses: (source) => listTelemetryAddresses(members(), source),
    members,
  });
  const drains = new AppDrains({ follow: (source, options) => telemetry.followLogs(source, options), tell });
  const known = new KnownDrains(tell, log);
  const places = new Map<string, string>();
  while (!signal.aborted) {
    try {
      if (settings.store.synced)
        drains.apply(
          await known.read(listCandidates(informers.read), {
            read: informers.read,
            client: withDeadlines(client, signal),
          }),
        );
      drains.reread(listMoved(drains.apps(), places, (app) => placeOf(listTelemetryAddresses(members(), app))));
    } catch (err) {
      if (!isUnreadable(err)) log.warn({ err }, "the log drains of apps could not be read; retrying");
    }
    await delay(LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }
  drains.stop();
  settings.release();
}

/** Reads with a deadline each, and one for all. */
function withDeadlines(client: KubeClient, ended: AbortSignal): DrainSources["client"] {
  const signal = AbortSignal.any([ended, AbortSignal.timeout(READ_ALL_MS)]);
  return { find: (ref, key) => client.find(ref, key, { signal, deadlineMs: READ_MS }) };
}

const placeOf = (addresses: readonly { url: string }[]): string => addresses.map(({ url }) => url).join(" ");

/** Apps whose logs are at other replicas than at the last look. */
function listMoved(apps: readonly string[], places: Map<string, string>, find: (app: string) => string): string[] {
  const moved = apps.filter((app) => places.get(app) !== find(app));
  for (const app of places.keys()) if (!apps.includes(app)) places.delete(app);
  for (const app of moved) places.set(app, find(app));
  return moved;
}

interface Known {
  version: string;
  readAt: number;
  drain: NamedDrain | RefusedDrain | undefined;
}

interface Versioned {
  candidate: Candidate;
  version: string;
}

type NamedDrain = FoundDrain & Pick<WantedDrain, "version">;

const LIMITS = {
  app: `an app has at most ${MAX_DRAINS_OF_APP}, and older ones go first`,
  platform: `there are more than ${MAX_DRAINS} on the platform, of which each org gets its share, older ones first`,
};

/** Reads the Secrets of a binding when it is new, has changed, or was read long ago. */
class KnownDrains {
  readonly #known = new Map<string, Known>();
  readonly #tell: Keeper["tell"];
  readonly #log: Logger;
  /** Keys of those over a limit, of which their apps were told. */
  #left = new Set<string>();

  constructor(tell: Keeper["tell"], log: Logger) {
    this.#tell = tell;
    this.#log = log;
  }

  async read(candidates: readonly Candidate[], sources: DrainSources, now = Date.now()): Promise<WantedDrain[]> {
    const keys = new Set(candidates.map(keyOf));
    for (const key of this.#known.keys()) if (!keys.has(key)) this.#known.delete(key);
    const due = candidates
      .map((candidate) => ({ candidate, version: versionOf(candidate, sources.read) }))
      .filter((one) => this.#isDue(one, now));
    await pLimit(READS).map(due, (one) => this.#refresh(one, sources, now));
    return this.#choose([...this.#known.values()].flatMap(({ drain }) => (drain && "address" in drain ? [drain] : [])));
  }

  /** Tells the apps of those that are left out, once. */
  #choose(wanted: readonly NamedDrain[]): WantedDrain[] {
    const { used, left } = chooseDrains(wanted);
    for (const { drain, limit } of left)
      if (!this.#left.has(drain.key))
        this.#tell(drain.app, `The log drain of service ${drain.service} is not used: ${LIMITS[limit]}.`);
    this.#left = new Set(left.map(({ drain }) => drain.key));
    return used;
  }

  #isDue({ candidate, version }: Versioned, now: number): boolean {
    const before = this.#known.get(keyOf(candidate));
    return before?.version !== version || now - before.readAt >= REREAD_MS;
  }

  /** A drain that cannot be read now stays as it is known, and holds up no other. */
  async #refresh({ candidate, version }: Versioned, sources: DrainSources, now: number): Promise<void> {
    const key = keyOf(candidate);
    try {
      const found = await readDrain(candidate, sources);
      const drain = found && "address" in found ? { ...found, version: digestOf(version, found) } : found;
      const isNews = this.#known.get(key)?.version !== version;
      this.#known.set(key, { version, readAt: now, drain });
      if (isNews && drain && "problem" in drain) this.#tell(drain.app, drain.problem);
    } catch (err) {
      this.#log.debug({ err, binding: candidate.binding.metadata.name }, "the Secret of a drain cannot be read");
    }
  }
}

const keyOf = ({ binding }: Candidate): string => binding.metadata.uid ?? "";

function digestOf(version: string, { address, certificates }: Omit<WantedDrain, "version">): string {
  return JSON.stringify([version, address, certificates]);
}
