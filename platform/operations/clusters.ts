// Engages the clusters that Cluster objects name, with the credentials of their Secrets, and knows the id by which this platform marks what it keeps there.
import type { Logger } from "pino";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import type { ClusterObservation, ObserveClusters } from "../../controllers/cluster/plan.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import { resourceId } from "../../kube/api/resource-ref.ts";
import { createClusterProvider, type ClusterProvider, type ProviderTiming } from "../../kube/cache/cluster-provider.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { RemoteMarkers } from "../../kube/controller/controller.ts";
import type { TelemetryEndpoint } from "../../telemetry/endpoint-agent.ts";
import { readClusterSource, type SourceOptions } from "./cluster-source.ts";
import { toRemoteMarkers } from "./controller-settings.ts";
import { followClusters } from "./follow-clusters.ts";
import { readHubId } from "./hub-id.ts";
import { TelemetryTokens } from "./telemetry-tokens.ts";

/** Other clusters, for controllers. */
export interface Clusters extends ObserveClusters {
  provider: ClusterProvider;
  /** Undefined until the id of the platform is known, which is read for the first Cluster. */
  markers: () => RemoteMarkers | undefined;
  /** Clusters whose logs and stats can be read: each by its name as URL, and the token that opens them. */
  listTelemetry(): TelemetryEndpoint[];
  /** Called when that list has changed, also by a token that came after its cluster. Returns the unsubscribe function. */
  onTelemetryChange(listener: () => void): () => void;
}

type ClusterFacts = Pick<ClusterObservation, "uid" | "version">;

export interface ClustersOptions {
  client: KubeClient;
  informers: Informers;
  log: Logger;
  disposables: AsyncDisposableStack;
  /** Shorter times for tests that cannot wait. */
  timing?: Partial<ProviderTiming>;
  /** How long the agent of a pull cluster may leave its Lease as it is. */
  silentMs?: number;
}

/** Four times as long as an agent leaves its Lease as it is. */
const AGENT_SILENT_MS = 80_000;

/** Follows the Clusters from now on. Without any it costs a watch. */
export function startClusters(context: ClustersOptions): Clusters {
  const { client, informers, log, disposables, timing = {}, silentMs = AGENT_SILENT_MS } = context;
  const facts = new Map<string, ClusterFacts>();
  const problems = new Map<string, string>();
  const telemetry = new TelemetryTokens();
  const { store, release } = informers.ensure(Cluster);
  const provider = createClusterProvider({
    log,
    timing,
    async verify(name, remote, signal) {
      const known = store.find({ namespace: SYSTEM_NAMESPACE, name })?.status?.clusterUID;
      facts.set(name, await identify({ client, remote, known, signal }));
    },
  });
  const hub: { markers?: RemoteMarkers } = {};
  const stop = followClusters({
    list: () => (store.synced ? store.list({ namespace: SYSTEM_NAMESPACE }) : undefined),
    onChange: (listener) => onAnyChange(store, listener),
    async engage(clusters) {
      if (clusters.length > 0) hub.markers ??= toRemoteMarkers(await readHubId(client));
      const manager = hub.markers?.fieldManager ?? "";
      await engageAll(clusters, { client, manager, silentMs, provider, problems, facts, telemetry });
    },
    onError: (err) => log.warn({ err }, "clusters cannot be engaged; retrying"),
  });
  disposables.defer(async () => {
    stop();
    release();
    await provider.close();
  });
  return {
    provider,
    markers: () => hub.markers,
    listTelemetry: () => telemetry.list(),
    onTelemetryChange: (listener) => telemetry.onChange(listener),
    ...toObservations(provider, { facts, problems, telemetry }),
  };
}

/** Calls the listener when an object of the store changes, and when it becomes readable or unreadable. */
function onAnyChange(
  store: { onChange(listener: () => void): () => void; onStateChange(listener: () => void): () => void },
  listener: () => void,
): () => void {
  const stops = [store.onChange(listener), store.onStateChange(listener)];
  return () => stops.forEach((end) => end());
}

function toObservations(
  provider: ClusterProvider,
  { facts, problems, telemetry }: Pick<Engaging, "facts" | "problems" | "telemetry">,
): ObserveClusters {
  return {
    observe(name) {
      const state = provider.states()[name];
      const problem = problems.get(name);
      if (!state)
        return problem === undefined ? undefined : { state: { phase: "failed", reason: problem, isSilent: false } };
      const hasLogToken = telemetry.has(name);
      return { state, ...facts.get(name), refused: listRefused(provider, name), hasLogToken };
    },
    onChange: (listener) => provider.onChange(listener),
  };
}

/** Kinds to which a chart of an earlier release gives no right: what needs them says so, and all else goes on. */
const LATER_KINDS: ReadonlySet<string> = new Set([resourceId(TaskRun)]);

function listRefused(provider: ClusterProvider, name: string): string[] {
  const watches = provider.find(name)?.informers.status() ?? [];
  const parked = watches.filter(({ state }) => state === "parked").map(({ resource }) => resource);
  return [...new Set(parked)].filter((resource) => !LATER_KINDS.has(resource)).toSorted();
}

interface Engaging extends SourceOptions {
  provider: ClusterProvider;
  problems: Map<string, string>;
  facts: Map<string, ClusterFacts>;
  telemetry: TelemetryTokens;
}

async function engageAll(
  clusters: readonly Cluster[],
  { provider, problems, facts, telemetry, ...options }: Engaging,
): Promise<void> {
  const wanted = new Set(clusters.map(({ metadata }) => metadata.name));
  for (const name of Object.keys(provider.states())) {
    if (wanted.has(name)) continue;
    void provider.disengage(name);
    // A Cluster of this name that comes later may be another one.
    facts.delete(name);
    problems.delete(name);
    telemetry.set(name, undefined);
  }
  for (const cluster of clusters) {
    const { name } = cluster.metadata;
    try {
      const { telemetryToken, ...source } = await readClusterSource(cluster, options);
      telemetry.set(name, telemetryToken);
      provider.engage(name, source);
      problems.delete(name);
    } catch (error) {
      problems.set(name, error instanceof Error ? error.message : String(error));
    }
  }
}

/** @throws Error when it is another cluster than before, or the platform's own */
async function identify({
  client,
  remote,
  known,
  signal,
}: {
  client: KubeClient;
  remote: KubeClient;
  known: string | undefined;
  signal: AbortSignal;
}): Promise<ClusterFacts> {
  const [{ metadata }, own, version] = await Promise.all([
    remote.get(Namespace, { name: "kube-system" }, { signal }),
    client.get(Namespace, { name: "kube-system" }, { signal }),
    remote.raw("GET", "/version", undefined, { signal }) as Promise<{ gitVersion?: string }>,
  ]);
  if (metadata.uid === own.metadata.uid) throw new Error("this is the platform's own cluster");
  if (known !== undefined && metadata.uid !== known)
    throw new Error(
      `another cluster answers at this address than before: the uid of its namespace kube-system is ${metadata.uid}, not ${known}`,
    );
  return { uid: metadata.uid ?? "", ...(version.gitVersion !== undefined && { version: version.gitVersion }) };
}
