// Which clusters are to have a ClusterBundle, and what its condition says. Pure.
import type { Cluster } from "../../crds/cluster/cluster.ts";
import { CLUSTER_NAME_LABEL } from "../../crds/cluster/local-cluster.ts";
import { MAX_KEPT_OBJECTS, type ClusterBundle, type KeptCluster } from "../../crds/cluster-bundle/cluster-bundle.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";

/** Names of clusters with the labels of a bundle, in the order in which changes come to them. */
export interface ChosenClusters {
  wanted: string[];
  /** Clusters of mode pull take no bundles: their agents make objects of apps only. */
  pulled: string[];
}

export function chooseClusters({ spec }: ClusterBundle, clusters: readonly Cluster[]): ChosenClusters {
  const labelled = Object.entries(spec.clusters.matchLabels);
  const chosen = clusters
    .filter(({ metadata: { name, labels, deletionTimestamp } }) => {
      const known: Record<string, string> = { ...labels, [CLUSTER_NAME_LABEL]: name };
      return deletionTimestamp === undefined && labelled.every(([key, value]) => known[key] === value);
    })
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const namesOf = (mode: Cluster["spec"]["mode"]): string[] =>
    chosen.filter((one) => one.spec.mode === mode).map(({ metadata }) => metadata.name);
  return { wanted: namesOf("push"), pulled: namesOf("pull") };
}

/** The values of a cluster. */
export function valuesOf({ spec }: ClusterBundle, cluster: string): Record<string, string> {
  return { ...spec.values, ...spec.overrides.find((one) => one.cluster === cluster)?.values };
}

/** Milliseconds until the next cluster may get a change that this one got; 0 once it has had it long enough. */
export function soakLeft({ spec }: ClusterBundle, { since }: Pick<KeptCluster, "since">, now: Date): number {
  if (since === undefined) return 0;
  return Math.max(0, Date.parse(since) + spec.soakSeconds * 1000 - now.getTime());
}

/** A cluster that is to have a bundle, and the digest of the manifests with its values; none where a value is missing. */
export interface Candidate {
  known: KeptCluster;
  content?: string;
}

export function hasContent({ known, content }: Candidate): boolean {
  return content !== undefined && known.content === content;
}

/** A cluster that refused other manifests may take these. */
export function refusesContent({ known, content }: Candidate): boolean {
  return content === undefined || known.refused === content;
}

/** Why clusters without the newest manifests wait for others, whatever their order. */
export interface Hold {
  /** Names of clusters that refuse them. */
  refusing: ReadonlySet<string>;
  /** Until the last that got them has had them long enough. */
  waitMs: number;
}

export function planHold(bundle: ClusterBundle, candidates: readonly Candidate[], now: Date): Hold {
  return {
    refusing: new Set(candidates.filter(refusesContent).map(({ known }) => known.name)),
    waitMs: Math.max(0, ...candidates.filter(hasContent).map(({ known }) => soakLeft(bundle, known, now))),
  };
}

/** Those that have the manifests are put right, and those that refused them are tried again, at once. */
export function mustWait(candidate: Candidate, { refusing, waitMs }: Hold): boolean {
  return !hasContent(candidate) && !refusesContent(candidate) && (refusing.size > 0 || waitMs > 0);
}

/** The status lists all that is on a cluster, so no more comes there. Undefined where there is room for the objects with these names. */
export function judgeRoom(objects: readonly string[], names: readonly string[]): string | undefined {
  const others = objects.filter((text) => !names.includes(text)).length;
  if (others + names.length <= MAX_KEPT_OBJECTS) return undefined;
  return `${others} objects of earlier manifests are there, which it took in part only, and go when it takes some whole: put manifests back that have them, and mend what it refuses`;
}

export function toReady({ wanted, pulled }: ChosenClusters, applied: number, kept: readonly KeptCluster[]): ReadyDraft {
  const skipped = pulled.length > 0 ? [`clusters of mode pull take no bundles: ${pulled.join(", ")}`] : [];
  const say = (...parts: readonly string[]): string => [...parts, ...skipped].join("; ");
  const problems = kept.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}`]));
  if (wanted.length === 0)
    return { status: "True", reason: "NoClusters", message: say("no cluster that takes bundles has its labels") };
  if (applied === wanted.length && problems.length === 0)
    return { status: "True", reason: "Applied", message: say(`applied on ${wanted.join(", ")}`) };
  return {
    status: "False",
    reason: problems.length > 0 ? "NotApplied" : "Applying",
    message: say(`applied on ${applied} of ${wanted.length} clusters`, ...problems),
    ...(problems.length > 0 && { isFailure: true as const }),
  };
}
