// `cup segments`: on which clusters the apps of an isolation segment run.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import {
  DEFAULT_FAILOVER,
  IsolationSegment,
  type Placement,
  type StagedRollout,
} from "../../crds/isolation-segment/isolation-segment.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { Failure } from "../failure.ts";
import { table, type Result } from "../output.ts";

export interface PlaceOptions {
  clusters: string;
  count?: number;
  spreadBy?: string;
  failover?: string;
  failoverAfter?: number;
  stages?: string;
  soak?: number;
  deadline?: number;
  maxFailures?: number;
  approval?: string;
}

export async function listSegments(kube: KubeClient): Promise<Result> {
  const { items } = await kube.list(IsolationSegment, { namespace: SYSTEM_NAMESPACE });
  const sorted = items.toSorted((a, b) => (displayNameOf(a) < displayNameOf(b) ? -1 : 1));
  return {
    json: sorted.map((segment) => ({
      name: displayNameOf(segment),
      placement: segment.spec.placement ?? null,
      failover: segment.spec.failover ?? DEFAULT_FAILOVER,
      rollout: segment.spec.rollout ?? null,
    })),
    text: table(
      ["segment", "clusters", "failover", "stages"],
      sorted.map((segment) => [
        displayNameOf(segment),
        describePlacement(segment.spec.placement),
        describeFailover(segment.spec),
        describeStages(segment.spec),
      ]),
    ),
  };
}

export async function placeSegment(kube: KubeClient, name: string, options: PlaceOptions): Promise<Result> {
  const segment = await getSegment(kube, name);
  const placement = options.clusters === "none" ? null : toPlacement(options);
  const failover = toFailover(options);
  const rollout = toStagedRollout(options, segment.spec.rollout);
  const body = {
    spec: { placement: placement && toPatch(placement, segment.spec.placement), ...failover, ...rollout },
  };
  await kube.patch(IsolationSegment, segment.metadata, { type: "merge", body });
  const where = describePlacement(placement ? { tolerations: [], ...placement } : undefined);
  return {
    json: { segment: name, placement, ...failover, ...rollout },
    text: [`New processes of segment ${name} run on ${where}. Apps that run now move with cup stop and cup start.`],
  };
}

const FAILOVER_MODES: readonly string[] = ["never", "manual", "auto"];

/** @throws Failure */
export function toFailover({ failover: mode, failoverAfter: afterSeconds }: PlaceOptions): {
  failover?: { mode?: string; afterSeconds?: number };
} {
  if (mode !== undefined && !FAILOVER_MODES.includes(mode))
    throw new Failure(`--failover ${mode} is none of ${FAILOVER_MODES.join(", ")}`, {
      kind: "usage",
      next: "--failover auto --failover-after 300",
    });
  if (mode === undefined && afterSeconds === undefined) return {};
  return { failover: { ...(mode !== undefined && { mode }), ...(afterSeconds !== undefined && { afterSeconds }) } };
}

const APPROVALS: readonly string[] = ["none", "stage"];

/** Patch of the stages by the options; rules without an option stay. @throws Failure */
export function toStagedRollout(
  { stages, soak, deadline, maxFailures, approval }: PlaceOptions,
  before: StagedRollout | undefined,
): { rollout?: object | null } {
  const rules = omitUndefined({ soakSeconds: soak, deadlineSeconds: deadline, maxFailures, approval });
  if (stages === "none") return { rollout: null };
  if (stages === undefined && Object.keys(rules).length === 0) return {};
  if (approval !== undefined && !APPROVALS.includes(approval))
    throw new Failure(`--approval ${approval} is none of ${APPROVALS.join(", ")}`, {
      kind: "usage",
      next: "--stages 1,50%,100% --approval stage",
    });
  if (stages === undefined && !before)
    throw new Failure("the segment has no stages", { kind: "usage", next: "--stages 1,50%,100%" });
  return { rollout: { ...(stages !== undefined && { stages: toStages(stages) }), ...rules } };
}

/** `1,50%,100%`. @throws Failure */
function toStages(text: string): StagedRollout["stages"] {
  return text.split(",").map((part) => {
    const [, number, percent] = /^([1-9][0-9]?|100)(%?)$/.exec(part.trim()) ?? [];
    if (number === undefined)
      throw new Failure(`--stages ${text} has a part that is no number of clusters, and no percentage`, {
        kind: "usage",
        next: "--stages 1,50%,100%",
      });
    return percent ? { percent: Number(number) } : { clusters: Number(number) };
  });
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

function describeFailover({ placement, failover = DEFAULT_FAILOVER }: IsolationSegment["spec"]): string {
  if (!placement) return "-";
  return failover.mode === "auto" ? `auto, after ${failover.afterSeconds} s` : failover.mode;
}

function describeStages({ placement, rollout }: IsolationSegment["spec"]): string {
  if (!placement || !rollout) return "-";
  const stages = rollout.stages.map(({ clusters, percent }) => (percent === undefined ? `${clusters}` : `${percent}%`));
  return `${stages.join(",")}${rollout.approval === "stage" ? ", each by approval" : ""}`;
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
