// Keeps the objects of ClusterBundles on the clusters that have their labels. One replica does.
import { hash } from "node:crypto";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { ClusterBundle, MAX_BUNDLE_OBJECTS, type KeptCluster } from "../../crds/cluster-bundle/cluster-bundle.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { ConfigMap } from "../../kube/api/builtin.ts";
import type { Draft } from "../../kube/client/client.ts";
import { isForbidden, isNotFound, isUnreachable } from "../../kube/client/errors.ts";
import { flattenErrors } from "../../kube/controller/aggregate-errors.ts";
import {
  defineController,
  NotReady,
  Stalled,
  watch,
  type Controller,
  type FinalizeResult,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import { readYaml } from "../../kube/yaml/read-yaml.ts";
import { createFactFilter } from "../shared/fact-filter.ts";
import { isGivenUp } from "../shared/other-clusters.ts";
import { applyBundle, listThere } from "./apply.ts";
import { describeDraft, fillIn, MAX_TEXT, splitDocuments, toDrafts } from "./manifests.ts";
import {
  chooseClusters,
  hasContent,
  judgeRoom,
  mustWait,
  planHold,
  refusesContent,
  soakLeft,
  toReady,
  valuesOf,
  type Candidate,
} from "./plan.ts";
import { objectKey } from "../../kube/api/object.ts";

/** When the objects are read again, in case somebody changed them. */
const RECHECK_MS = 300_000;
/** After a refusal, or where a cluster did not answer. */
const RETRY_MS = 30_000;
const MAX_PROBLEM = 500;

export function clusterBundleController(): Controller {
  const concerns = createFactFilter(({ metadata }: Cluster) => [metadata.labels, metadata.deletionTimestamp]);
  return defineController({
    name: "cluster-bundle",
    kind: "singleton",
    for: ClusterBundle,
    workers: 2,
    watches: [
      watch(Cluster, (cluster, read) => (concerns(cluster) ? read.list(ClusterBundle).map(objectKey) : [])),
      watch(
        ConfigMap,
        ({ metadata }, read) =>
          read
            .list(ClusterBundle)
            .filter(({ spec }) => spec.manifestsFrom.configMap === metadata.name)
            .map(objectKey),
        { namespace: SYSTEM_NAMESPACE },
      ),
    ],
    remote: { owns: [], mapCluster: (_cluster, read) => read.list(ClusterBundle).map(objectKey) },
    finalizer: "cupola.dev/bundle",
    needsFinalizer: ({ spec }: ClusterBundle) => spec.deletion === "Delete",
    dropsFinalizer: true,
    reconcile: reconcileBundle,
    finalize: endBundle,
  });
}

async function reconcileBundle(bundle: ClusterBundle, context: ReconcileContext): Promise<ReconcileResult> {
  const drafts = await readDrafts(bundle, context);
  const chosen = chooseClusters(bundle, context.read.list(Cluster));
  const { wanted } = chosen;
  const { kept, applied, waitMs } = await applyInTurn(bundle, { wanted, drafts, context });
  const left = await leaveOthers(bundle, wanted, context);
  const clusters = [...kept, ...left];
  const isWaiting = clusters.some(({ problem }) => problem !== undefined) || applied < wanted.length;
  return {
    status: { wanted: wanted.length, applied, clusters },
    ready: toReady(chosen, applied, clusters),
    requeueAfterMs: Math.min(isWaiting ? RETRY_MS : RECHECK_MS, waitMs || Infinity),
  };
}

/** A missing ConfigMap removes nothing. @throws NotReady, Stalled */
async function readDrafts(bundle: ClusterBundle, { read }: ReconcileContext): Promise<Draft[]> {
  const { configMap: name } = bundle.spec.manifestsFrom;
  const found = read.find(ConfigMap, { namespace: SYSTEM_NAMESPACE, name });
  if (!found)
    throw new NotReady("ManifestsMissing", `ConfigMap ${name} does not exist; clusters keep what they have`, {
      isFailure: true,
    });
  try {
    return toDrafts(await readDocuments(found.data ?? {}));
  } catch (error) {
    throw new Stalled("ManifestsInvalid", `ConfigMap ${name}: ${messageOf(error)}; clusters keep what they have`);
  }
}

async function readDocuments(data: Readonly<Record<string, string>>): Promise<{ from: string; value: unknown }[]> {
  const texts = Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const size = texts.reduce((sum, [, text]) => sum + text.length, 0);
  if (size > MAX_TEXT) throw new Error(`${size} characters: at most ${MAX_TEXT} fit into a bundle`);
  const documents: { from: string; value: unknown }[] = [];
  for (const [from, text] of texts)
    for (const part of splitDocuments(text)) {
      if (documents.length > MAX_BUNDLE_OBJECTS) break;
      const parsed = await readYaml(part, "kubernetes", "cluster bundles");
      if (!("json" in parsed)) throw new Error(`${from}: ${parsed.message}`);
      documents.push({ from, value: JSON.parse(parsed.json) as unknown });
    }
  return documents;
}

interface Turns {
  kept: KeptCluster[];
  applied: number;
  /** Until the next cluster's turn; 0 when none waits for time. */
  waitMs: number;
}

/** Clusters that have the manifests are put right where somebody changed them. A new version comes to one after the other. */
async function applyInTurn(
  bundle: ClusterBundle,
  { wanted, drafts, context }: { wanted: readonly string[]; drafts: readonly Draft[]; context: ReconcileContext },
): Promise<Turns> {
  const candidates = wanted.map((name) => ({
    known: bundle.status?.clusters?.find((one) => one.name === name) ?? { name, objects: [] },
    ...tryFillIn(drafts, valuesOf(bundle, name)),
  }));
  const hold = planHold(bundle, candidates, context.now());
  const refusing = new Set(hold.refusing);
  const turns: Turns = { kept: [], applied: 0, waitMs: hold.waitMs };
  for (const candidate of candidates) {
    if (mustWait(candidate, { refusing, waitMs: turns.waitMs })) {
      turns.kept.push(withoutProblem(candidate.known));
      continue;
    }
    const next = await applyTo(candidate, { bundle, context });
    turns.kept.push(next);
    if (next.problem === undefined) {
      turns.applied += 1;
      refusing.delete(next.name);
    } else if (refusesContent({ ...candidate, known: next })) refusing.add(next.name);
    if (hasContent({ ...candidate, known: next }))
      turns.waitMs = Math.max(turns.waitMs, soakLeft(bundle, next, context.now()));
  }
  return turns;
}

interface Filled extends Candidate {
  drafts: Draft[];
  problem?: string;
}

function tryFillIn(drafts: readonly Draft[], values: Readonly<Record<string, string>>): Omit<Filled, "known"> {
  try {
    const filled = fillIn(drafts, values);
    return { drafts: filled, content: hash("sha256", JSON.stringify(filled), "hex") };
  } catch (error) {
    return { drafts: [], problem: messageOf(error) };
  }
}

const NO_ANSWER = "it does not answer, or cannot be read";

async function applyTo(
  { known, drafts, content, problem }: Filled,
  { bundle, context }: { bundle: ClusterBundle; context: ReconcileContext },
): Promise<KeptCluster> {
  if (content === undefined) return { ...withoutProblem(known), ...(problem !== undefined && { problem }) };
  const failed = await tryApply(known, drafts, { bundle, context });
  if (failed?.problem === NO_ANSWER) return toSilent({ ...known, ...failed }, content, known.problem);
  if (failed) return { ...known, ...failed, refused: content };
  const since = known.content === content ? known.since : context.now().toISOString();
  return { name: known.name, content, ...(since && { since }), objects: drafts.map(describeDraft) };
}

/** The next clusters do not wait for one that does not answer, unless it refused these manifests before: then its refusal stands. */
function toSilent(known: KeptCluster, content: string, before: string | undefined): KeptCluster {
  if (known.refused === content) return { ...known, ...(before !== undefined && { problem: before }) };
  const { refused: _, ...others } = known;
  return others;
}

/** Returns why it failed, and what is there by now, which may be some of both; undefined when it did not. */
async function tryApply(
  { name, objects }: KeptCluster,
  drafts: readonly Draft[],
  { bundle, context }: { bundle: ClusterBundle; context: ReconcileContext },
): Promise<{ problem: string; objects: string[] } | undefined> {
  const { markers } = context.clusters;
  const remote = context.clusters.find(name);
  if (!remote || !markers) return { problem: NO_ANSWER, objects };
  const place = { client: remote.client, markers };
  const names = drafts.map(describeDraft);
  const { problem, known } = await findRoom(objects, names, place);
  if (problem !== undefined) return { problem, objects: known };
  const application = { bundle, ...place, drafts, known };
  try {
    await applyBundle(application);
    return undefined;
  } catch (error) {
    const all = [...new Set([...known, ...names])];
    const there = await listThere(all, application).catch(() => all);
    return { problem: describeFailure(error), objects: there };
  }
}

/** The objects of which the status says that they are there, read anew where they leave no room; with the problem where there is none. */
async function findRoom(
  objects: string[],
  names: readonly string[],
  place: Parameters<typeof listThere>[1],
): Promise<{ known: string[]; problem?: string }> {
  if (judgeRoom(objects, names) === undefined) return { known: objects };
  try {
    const known = await listThere(objects, place);
    const problem = judgeRoom(known, names);
    return { known, ...(problem !== undefined && { problem }) };
  } catch (error) {
    return { known: objects, problem: describeFailure(error) };
  }
}

function describeFailure(error: unknown): string {
  const [first, ...more] = flattenErrors(error);
  if (isUnreachable(first)) return NO_ANSWER;
  const others = more.length > 0 ? ` (and ${more.length} more)` : "";
  return `${messageOf(first).slice(0, MAX_PROBLEM)}${toAdvice(first)}${others}`;
}

function toAdvice(error: unknown): string {
  if (isForbidden(error))
    return "; where that namespace is to have bundles, name it in hub.bundles.namespaces of the chart there";
  return isNotFound(error) ? "; make the namespace, or install the kind, there" : "";
}

/** A cluster that waits was not asked for this change, so it has not refused it either. */
function withoutProblem({ problem: _, refused: _refused, ...known }: KeptCluster): KeptCluster {
  return known;
}

/** Clusters that have the labels no more. Whoever gave a cluster up waits for nothing there. */
async function leaveOthers(
  bundle: ClusterBundle,
  wanted: readonly string[],
  context: ReconcileContext,
): Promise<KeptCluster[]> {
  const kept: KeptCluster[] = [];
  for (const known of bundle.status?.clusters ?? []) {
    if (wanted.includes(known.name) || isGivenUp(known.name, context.read) || isPulled(known.name, context)) continue;
    if (bundle.spec.deletion === "Orphan" || known.objects.length === 0) continue;
    const refused = await tryApply(known, [], { bundle, context });
    if (refused !== undefined) kept.push({ ...known, ...refused });
  }
  return kept;
}

/** It never had anything of a bundle. */
function isPulled(name: string, { read }: ReconcileContext): boolean {
  return read.find(Cluster, { namespace: SYSTEM_NAMESPACE, name })?.spec.mode === "pull";
}

async function endBundle(bundle: ClusterBundle, context: ReconcileContext): Promise<FinalizeResult> {
  const kept = await leaveOthers(bundle, [], context);
  if (kept.length === 0) return undefined;
  const message = kept.map(({ name, problem = "" }) => `${name}: ${problem}`).join("; ");
  return {
    status: { clusters: kept, applied: 0 },
    ready: { status: "False", reason: "Deleting", message: `its objects must go first: ${message}` },
    requeueAfterMs: RETRY_MS,
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
