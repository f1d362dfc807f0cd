// The agent of a cluster of mode pull: calls the hub, makes what its Works say on this cluster, and says every 20 s that it is alive.
import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import { pullControllers } from "../../controllers/controllers.ts";
import { REMOVED_KINDS } from "../../controllers/work/plan.ts";
import { AGENT_CLUSTER } from "../../controllers/work/work.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Cluster, MAX_CLASSES, type AgentReport } from "../../crds/cluster/cluster.ts";
import { FACTS_CONFIG, parseFacts, type SpokeFacts } from "../../crds/cluster/spoke-facts.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LABELS } from "../../crds/labels.ts";
import { AGENT_LEASE, clusterNamespace } from "../../crds/work/names.ts";
import { Work } from "../../crds/work/work.ts";
import { ConfigMap, Lease, Namespace } from "../../kube/api/builtin.ts";
import { keyOf } from "../../kube/api/object.ts";
import { toMicroTime } from "../../kube/api/times.ts";
import { createClusterProvider, type ProviderTiming } from "../../kube/cache/cluster-provider.ts";
import type { ReflectorTiming } from "../../kube/cache/reflector-timing.ts";
import { isUnreadable } from "../../kube/cache/errors.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { createInformers } from "../../kube/cache/informers.ts";
import type { CallOptions, KubeClient, ListOptions, WatchOptions } from "../../kube/client/client.ts";
import { isForbidden, isUnauthorized } from "../../kube/client/errors.ts";
import { createSleeper } from "../../kube/client/sleeper.ts";
import { runControllers } from "../../kube/controller/run-controllers.ts";
import type { RemoteMarkers } from "../../kube/controller/controller.ts";
import { CONTROLLER_SETTINGS, toRemoteMarkers } from "./controller-settings.ts";

export interface PullAgentOptions {
  /** Name of this cluster on the hub. */
  cluster: string;
  /** The hub, as this agent. Its owner closes it. */
  hub: KubeClient;
  /** This cluster, as the account that a hub has here, with its rights and the policies on it. */
  connectHere: () => KubeClient | Promise<KubeClient>;
  log: Logger;
  timing?: Partial<AgentTiming>;
}

export interface AgentTiming {
  /** Between two signs of life. */
  aliveMs: number;
  /** After a failure. */
  retryMs: number;
  provider: Partial<ProviderTiming>;
  watches: Partial<ReflectorTiming>;
}

const DEFAULT_TIMING: AgentTiming = { aliveMs: 20_000, retryMs: 5_000, provider: {}, watches: {} };
/** Deadline of the agent's own calls. */
const CALL_MS = 10_000;

/** Fields of a report that are not always there. A merge leaves what it does not name. */
const UNSAID = { orphans: null, uncounted: null, kubernetes: null, cupola: null, capacity: null };

/** Runs until the signal. Never rejects: what fails is logged and tried again. */
export async function runPullAgent(options: PullAgentOptions, signal: AbortSignal): Promise<void> {
  const agent = new PullAgent(options, signal);
  try {
    await agent.run();
  } finally {
    await agent.stop();
  }
}

/** Runs once the hub is known. */
interface Working {
  hub: string;
  /** Reads of the hub's Works. */
  works: Reader;
  /** Reads of this cluster; undefined while it does not answer. */
  here(): Reader | undefined;
  stop(): Promise<void>;
}

class PullAgent {
  readonly #options: PullAgentOptions;
  readonly #signal: AbortSignal;
  readonly #timing: AgentTiming;
  #here: KubeClient | undefined;
  #working: Working | undefined;
  #problem: string | undefined;

  constructor(options: PullAgentOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#timing = { ...DEFAULT_TIMING, ...options.timing };
  }

  async run(): Promise<void> {
    const sleeper = createSleeper();
    while (!this.#signal.aborted) {
      const isDone = await this.#turn().then(
        () => true,
        (error: unknown) => this.#recordFailure(error),
      );
      await sleeper.sleep(isDone ? this.#timing.aliveMs : this.#timing.retryMs, this.#signal);
    }
  }

  async stop(): Promise<void> {
    await this.#working?.stop();
    await this.#here?.close();
  }

  /** @throws Error that says what hinders the agent */
  async #turn(): Promise<void> {
    const { cluster: name, hub, log } = this.#options;
    const call = { signal: this.#signal, deadlineMs: CALL_MS };
    const cluster = await hub.get(Cluster, { namespace: SYSTEM_NAMESPACE, name }, call);
    const here = (this.#here ??= await this.#options.connectHere());
    const { metadata } = await here.get(Namespace, { name: "kube-system" }, call);
    const clusterUID = metadata.uid ?? "";
    await this.#requireSame(cluster, clusterUID);
    const hubId = cluster.status?.hub;
    if (hubId === undefined) throw new Error(`the platform has not taken notice of cluster ${name} yet`);
    this.#working ??= this.#start(toRemoteMarkers(hubId));
    try {
      await this.#report(cluster, { clusterUID, here });
    } finally {
      // A cluster of which something is refused is not lost.
      await this.#renewLease();
    }
    if (this.#problem !== undefined) log.info({ cluster: name }, "the agent works again");
    this.#problem = undefined;
  }

  #recordFailure(error: unknown): false {
    const reason = error instanceof Error ? error.message : String(error);
    // A token that was refused is read again.
    if (isUnauthorized(error)) void this.#options.hub.renew().catch(() => undefined);
    if (reason === this.#problem || this.#signal.aborted) return false;
    this.#problem = reason;
    const { log, cluster } = this.#options;
    const next = isUnauthorized(error)
      ? `the hub refuses this agent; on the hub: cup clusters add ${cluster} --pull, then the helm command that it prints`
      : "the agent cannot do its work; it tries again";
    log.warn({ cluster, reason }, next);
    return false;
  }

  async #report(cluster: Cluster, { clusterUID, here }: { clusterUID: string; here: KubeClient }): Promise<void> {
    const before = cluster.status?.agent;
    const report = { clusterUID, ...(await this.#observe(here)), ...this.#countOrphans(before) };
    if (isDeepStrictEqual(before, report)) return;
    await this.#options.hub.patch(
      Cluster,
      cluster.metadata,
      { type: "merge", body: { status: { agent: { ...UNSAID, ...report } } } },
      // A hub of an earlier release knows fewer fields.
      { subresource: "status", fieldValidation: "Ignore", signal: this.#signal, deadlineMs: CALL_MS },
    );
  }

  /** While they cannot be counted, those of before count. */
  #countOrphans(before: AgentReport | undefined): Pick<AgentReport, "orphans" | "uncounted"> {
    const counted = this.#working && countOrphans(this.#working);
    if (counted) return counted;
    return { ...(before?.orphans && { orphans: before.orphans }), uncounted: true };
  }

  /** Works are for the cluster for which they were made. */
  async #requireSame({ metadata: { name }, spec, status }: Cluster, clusterUID: string): Promise<void> {
    const isSame = status?.clusterUID === undefined || status.clusterUID === clusterUID;
    if (isSame && spec.mode === "pull") return;
    const working = this.#working;
    this.#working = undefined;
    await working?.stop();
    throw new Error(
      isSame
        ? `the platform calls cluster ${name} by itself: its mode is ${spec.mode}`
        : `${name} is another cluster on the hub: add this one under another name, cup clusters add NAME --pull`,
    );
  }

  async #observe(here: KubeClient): Promise<Omit<AgentReport, "clusterUID">> {
    const call = { signal: this.#signal, deadlineMs: CALL_MS };
    const [version, { items }, facts] = await Promise.all([
      here.raw("GET", "/version", undefined, call) as Promise<{ gitVersion?: string }>,
      here.list(BackendClass, call),
      readFacts(here, call),
    ]);
    const classes = items
      .map(({ metadata: { name }, spec: { role }, status }) => ({
        role,
        name,
        ...(status?.capabilities && { capabilities: status.capabilities }),
      }))
      .toSorted((a, b) => (`${a.role}/${a.name}` < `${b.role}/${b.name}` ? -1 : 1));
    return {
      ...(version.gitVersion !== undefined && { kubernetes: version.gitVersion }),
      ...facts,
      classes: classes.slice(0, MAX_CLASSES),
    };
  }

  async #renewLease(): Promise<void> {
    const { hub, cluster } = this.#options;
    const key = { namespace: clusterNamespace(cluster), name: AGENT_LEASE };
    const body = { spec: { holderIdentity: cluster, renewTime: toMicroTime(new Date()) } };
    await hub.patch(Lease, key, { type: "merge", body }, { signal: this.#signal, deadlineMs: CALL_MS });
  }

  #start(markers: RemoteMarkers): Working {
    const { cluster, hub, log, connectHere } = this.#options;
    const client = inNamespace(hub, clusterNamespace(cluster));
    const informers = createInformers({ client, log, timing: this.#timing.watches });
    const provider = createClusterProvider({ log, timing: this.#timing.provider });
    provider.engage(AGENT_CLUSTER, { hash: AGENT_CLUSTER, connect: connectHere });
    const abort = new AbortController();
    const running = runControllers({
      client,
      controllers: pullControllers(),
      informers,
      ownership: CONTROLLER_SETTINGS,
      remote: { provider, markers: () => markers },
      signal: abort.signal,
      log,
    });
    return {
      hub: markers.hub,
      works: informers.read,
      here: () => provider.find(AGENT_CLUSTER)?.informers.read,
      async stop() {
        abort.abort();
        await running.stopped;
        await informers.close();
        await provider.close();
      },
    };
  }
}

/** None where the chart here gives no right to read them. */
async function readFacts(here: KubeClient, call: CallOptions): Promise<SpokeFacts> {
  const key = { namespace: SYSTEM_NAMESPACE, name: FACTS_CONFIG };
  const found = await here.find(ConfigMap, key, call).catch((error: unknown) => {
    if (isForbidden(error)) return undefined;
    throw error;
  });
  return parseFacts(found?.data);
}

/** Objects of the platform here that no Work holds. Undefined while they cannot be counted. */
function countOrphans({ hub, works, here }: Working): Pick<AgentReport, "orphans"> | undefined {
  const read = here();
  if (!read) return undefined;
  try {
    const known = new Set(works.list(Work).map(({ metadata }) => metadata.name));
    const orphans = REMOVED_KINDS.flatMap((ref) => read.list(ref, { labels: { [LABELS.hub]: hub } })).filter(
      ({ metadata }) => !known.has(metadata.labels?.[LABELS.hubOwner] ?? ""),
    );
    const [first] = orphans;
    return first ? { orphans: { count: orphans.length, example: `${first.kind} ${keyOf(first.metadata)}` } } : {};
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}

/** Its account may list and watch there only. */
function inNamespace(client: KubeClient, namespace: string): KubeClient {
  return {
    ...client,
    list: (ref, options: ListOptions = {}) => client.list(ref, { ...options, namespace }),
    pages: (ref, options: ListOptions = {}) => client.pages(ref, { ...options, namespace }),
    watch: (ref, options: WatchOptions = {}) => client.watch(ref, { ...options, namespace }),
  };
}
