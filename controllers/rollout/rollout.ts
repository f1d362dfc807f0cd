// Keeps a Rollout's status; the instances follow from it in controllers/process, the Revision and the app's droplet in controllers/app.
import { App } from "../../crds/app/app.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { IsolationSegment } from "../../crds/isolation-segment/isolation-segment.ts";
import { ANNOTATIONS, LABELS } from "../../crds/labels.ts";
import { mergedLRPsOf, type RunningLRP } from "../../crds/placement-decision/merged-lrps.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Rollout } from "../../crds/rollout/rollout.ts";
import { isEnded } from "../../crds/rollout/rules.ts";
import { Task } from "../../crds/task/task.ts";
import { defineController, watch } from "../../kube/controller/controller.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import {
  appKey,
  getApp,
  indexByApp,
  mapAppToOwned,
  OWNING_APP_INDEX,
  toAppOwnership,
  withoutDeleting,
} from "../shared/app-owned.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { deleteAll, HISTORY_LIMITS, planExcess } from "../shared/history-limits.ts";
import { findReleaseProblem, RELEASE_TYPE, releaseAttempt, releaseTaskName } from "../shared/release-task.ts";
import { findHeldReady } from "../shared/start-gate.ts";
import { findPlacement } from "../shared/placement.ts";
import { isReachable } from "../shared/reachable.ts";
import { TENANCY_KINDS } from "../shared/tenancy.ts";
import { findDropletName } from "../shared/rollouts.ts";
import { planRolloutReady, planRolloutStatus, type RolloutInput, type RolloutPlacement } from "./plan.ts";

const sameApp = (owned: Rollout | Process | Revision | Task): Record<string, string> => ({
  [OWNING_APP_INDEX]: indexByApp(owned)[0] ?? "",
});

export const rolloutController = defineController({
  name: "rollout",
  for: Rollout,
  reads: [...TENANCY_KINDS, Cluster, Droplet, IsolationSegment],
  indexes: { [GUID_INDEX]: indexByGUID, [OWNING_APP_INDEX]: indexByApp },
  watches: [
    watch(App, mapAppToOwned),
    watch(Process, sameApp),
    watch(Revision, sameApp),
    watch(Rollout, sameApp),
    watch(Task, (task) => (task.spec.name === RELEASE_TYPE ? sameApp(task) : [])),
    // A decision has the name of its Process.
    watch(PlacementDecision, ({ metadata }) => ({
      [OWNING_APP_INDEX]: appKey(metadata.namespace, metadata.name.split(".")[0] ?? ""),
    })),
    watch(LRP, (lrp) => ({ [OWNING_APP_INDEX]: appKey(lrp.metadata.namespace, findAppName(lrp)) })),
  ],

  async reconcile(rollout, context) {
    const app = getApp(context.read, rollout);
    const { labels } = resolveGUID(Rollout, rollout, context);
    const input = readInput(rollout, app, context.read);
    const old = planExcess(input.history.rollouts, HISTORY_LIMITS.rollouts, (one) => !isEnded(one));
    await deleteAll(context.client, Rollout, old);
    const { status, progress } = planRolloutStatus(input, context.now());
    const failure = findReleaseFailure(input, context.read);
    return {
      ...toAppOwnership(app, resolveGUID(App, app, context).guid, labels),
      status: { ...status },
      ...omitUndefined({ requeueAfterMs: progress?.requeueAfterMs }),
      ...(failure && isOpen(rollout) && { spec: { cancelled: true } }),
      ready: planRolloutReady(input, status, {
        missing: findMissing(input, context.read),
        failure,
        silent: progress?.silent,
        // The app's controller makes the version, and says why it does not.
        held: status.revision === undefined ? findHeldReady(app.status?.conditions) : undefined,
      }),
    };
  },
});

/** The App of an LRP: its owner is a Process, whose name starts with the App's and a dot. */
function findAppName({ metadata }: LRP): string {
  const [, process = ""] = (metadata.annotations?.[ANNOTATIONS.owner] ?? "").split("/");
  return process.split(".")[0] ?? "";
}

function readInput(rollout: Rollout, app: App, read: Reader): RolloutInput {
  const { namespace } = app.metadata;
  const key = appKey(namespace, app.metadata.name);
  const processes = withoutDeleting(read.byIndex(Process, OWNING_APP_INDEX, key, namespace));
  const web = processes.find(({ spec }) => spec.type === "web");
  const decision = web && read.find(PlacementDecision, { namespace, name: web.metadata.name });
  return {
    rollout,
    app,
    processes,
    ...(decision
      ? { lrps: mergedLRPsOf(decision), placement: toPlacement(decision, read) }
      : { lrps: web ? listLRPs(web, read) : [] }),
    history: {
      rollouts: withoutDeleting(read.byIndex(Rollout, OWNING_APP_INDEX, key, namespace)),
      revisions: withoutDeleting(read.byIndex(Revision, OWNING_APP_INDEX, key, namespace)),
    },
  };
}

/** On the platform's own cluster. */
function listLRPs({ metadata: { namespace, uid = "" } }: Process, read: Reader): readonly RunningLRP[] {
  return read.list(LRP, { namespace, labels: { [LABELS.ownerUid]: uid } });
}

function toPlacement({ metadata, spec, status }: PlacementDecision, read: Reader): RolloutPlacement {
  const { assignments } = spec;
  const isSilent = (name: string): boolean => {
    const cluster = read.find(Cluster, { namespace: SYSTEM_NAMESPACE, name });
    return !cluster || !isReachable(cluster);
  };
  return {
    assignments,
    placed: status?.clusters ?? [],
    silent: new Set(
      assignments.map(({ cluster }) => cluster).filter((name) => name !== LOCAL_CLUSTER && isSilent(name)),
    ),
    rules: findPlacement(read, metadata.namespace)?.rollout,
  };
}

/** Why the release command of this Rollout's version failed, if it did: the version never starts, so the Rollout returns to the former one. */
function findReleaseFailure({ rollout, app, history }: RolloutInput, read: Reader): string | undefined {
  const { namespace } = app.metadata;
  const name = findDropletName(rollout, app, history);
  const droplet = name === undefined ? undefined : read.find(Droplet, { namespace, name });
  if (!droplet || rollout.spec.startsApp) return undefined;
  const task = read.find(Task, { namespace, name: releaseTaskName(app, releaseAttempt(app, droplet, rollout)) });
  const problem = task && findReleaseProblem(task);
  return problem?.reason === "ReleaseFailed" ? problem.message : undefined;
}

function isOpen(rollout: Rollout): boolean {
  return !isEnded(rollout) && !rollout.spec.cancelled;
}

/** A missing object that the Rollout names. */
function findMissing({ rollout, app, history }: RolloutInput, read: Reader): string | undefined {
  const { droplet, revision } = rollout.spec;
  if (revision && !history.revisions.some(({ metadata }) => metadata.name === revision.name))
    return `revision ${revision.name} of app ${app.metadata.name} does not exist`;
  const name = (droplet ?? app.spec.droplet)?.name;
  if (revision || (name !== undefined && read.find(Droplet, { namespace: app.metadata.namespace, name })))
    return undefined;
  return name === undefined
    ? "the app has no droplet: push it, or set spec.droplet"
    : `droplet ${name} does not exist: push the app, or name another`;
}
