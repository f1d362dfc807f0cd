// `cup segments`: on which clusters the apps of an isolation segment run.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { IsolationSegment, type Placement } from "../../crds/isolation-segment/isolation-segment.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { Failure } from "../failure.ts";
import { table, type Result } from "../output.ts";

export interface PlaceOptions {
  clusters: string;
  count?: number;
  spreadBy?: string;
}

export async function listSegments(kube: KubeClient): Promise<Result> {
  const { items } = await kube.list(IsolationSegment, { namespace: SYSTEM_NAMESPACE });
  const sorted = items.toSorted((a, b) => (displayNameOf(a) < displayNameOf(b) ? -1 : 1));
  return {
    json: sorted.map((segment) => ({ name: displayNameOf(segment), placement: segment.spec.placement ?? null })),
    text: table(
      ["segment", "clusters"],
      sorted.map((segment) => [displayNameOf(segment), describePlacement(segment.spec.placement)]),
    ),
  };
}

export async function placeSegment(kube: KubeClient, name: string, options: PlaceOptions): Promise<Result> {
  const segment = await getSegment(kube, name);
  const placement = options.clusters === "none" ? null : toPlacement(options);
  const body = { spec: { placement: placement && toPatch(placement, segment.spec.placement) } };
  await kube.patch(IsolationSegment, segment.metadata, { type: "merge", body });
  const where = describePlacement(placement ? { tolerations: [], ...placement } : undefined);
  return {
    json: { segment: name, placement },
    text: [`New processes of segment ${name} run on ${where}. Apps that run now move with cup stop and cup start.`],
  };
}

/** A merge patch keeps the keys that it does not name. Tolerations stay. */
function toPatch(placement: Omit<Placement, "tolerations">, before: Placement | undefined): object {
  const gone = Object.keys(before?.clusters.matchLabels ?? {}).map((key) => [key, null]);
  const matchLabels = { ...Object.fromEntries(gone), ...placement.clusters.matchLabels };
  return { count: null, spreadBy: null, ...placement, clusters: { matchLabels } };
}

/** `all`, or labels: `tier=prod,region=eu`. @throws Failure */
export function toPlacement({ clusters, count, spreadBy }: PlaceOptions): Omit<Placement, "tolerations"> {
  return {
    clusters: { matchLabels: clusters === "all" ? {} : toLabels(clusters, "--clusters") },
    ...(count !== undefined && { count }),
    ...(spreadBy !== undefined && { spreadBy }),
  };
}

/** `tier=prod,region=eu` as labels. @throws Failure */
export function toLabels(text: string, option: string): Record<string, string> {
  const pairs = text.split(",").map((pair) => pair.split("=") as [string, string?]);
  for (const [key, value] of pairs)
    if (!key || value === undefined)
      throw new Failure(`${option} ${text} has no labels as tier=prod,region=eu`, {
        kind: "usage",
        next:
          option === "--clusters"
            ? "--clusters all, or none, or tier=prod,region=eu, or cupola.dev/cluster=west"
            : `${option} tier=prod,region=eu`,
      });
  return Object.fromEntries(pairs as [string, string][]);
}

function describePlacement(placement: Placement | undefined): string {
  if (!placement) return "the platform's own cluster";
  const labels = Object.entries(placement.clusters.matchLabels).map(([key, value]) => `${key}=${value}`);
  const which = labels.length === 0 ? "clusters" : `clusters with ${labels.join(", ")}`;
  const spread = placement.spreadBy === undefined ? "" : `, one for each ${placement.spreadBy}`;
  return `${placement.count === undefined ? "all" : placement.count} ${which}${spread}`;
}

async function getSegment(kube: KubeClient, name: string): Promise<IsolationSegment> {
  const { items } = await kube.list(IsolationSegment, { namespace: SYSTEM_NAMESPACE });
  const found = items.find((segment) => displayNameOf(segment) === name);
  if (!found) throw new Failure(`isolation segment ${name} does not exist`, { next: "cup segments" });
  return found;
}
