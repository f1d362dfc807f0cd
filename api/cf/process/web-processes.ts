// The web processes that cf shows while a Rollout runs several versions of one Process: each version with a GUID and instances of its own.
import type { Process } from "../../../crds/process/process.ts";
import type { Revision } from "../../../crds/revision/revision.ts";
import { LABELS } from "../../../crds/labels.ts";
import { Rollout } from "../../../crds/rollout/rollout.ts";
import { goalOf, rolloutProcessGUID } from "../../../crds/rollout/rules.ts";
import { defaultInstances } from "../../../crds/process/defaults.ts";
import { omitUndefined } from "../../../kube/api/omit-undefined.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { appOf } from "../app/owner-app.ts";
import { revisionsOf } from "../rollout/app-revisions.ts";
import { activeRollout } from "../rollout/app-rollouts.ts";

type WebVersion = NonNullable<NonNullable<Rollout["status"]>["web"]>[number];

const rolloutProcesses = new WeakSet<Process>();

/** Whether this is a version of a web process that only exists during a Rollout; it was made by `withRolloutProcesses`. */
export function isRolloutProcess(process: Process): boolean {
  return rolloutProcesses.has(process);
}

/** The processes of a list, each web process followed by its newer versions. The same list when no Rollout is under way. */
export function withRolloutProcesses(cache: ClusterCache, processes: readonly Process[]): readonly Process[] {
  if (cache.store(Rollout).byIndex("open", "true").length === 0) return processes;
  const all = processes.flatMap((process) => toVersions(cache, process));
  return all.length === processes.length && all.every((one, at) => one === processes[at]) ? processes : all;
}

/** The Process itself, or its versions during a Rollout: the one that the app runs first, as the Process with its current number of instances. */
export function toVersions(cache: ClusterCache, process: Process): Process[] {
  const app = process.spec.type === "web" ? appOf(cache, process) : undefined;
  const rollout = app && activeRollout(cache, app);
  if (!rollout || app.spec.state === "Stopped" || rollout.status?.finalRevision !== undefined) return [process];
  const versions = [...(rollout.status?.web ?? []), ...versionToCome(process, rollout)];
  const running = versions.find(({ lrp }) => lrp === process.status?.lrp);
  const revisions = revisionsOf(cache, app);
  return [
    running ? { ...process, spec: { ...process.spec, instances: running.instances } } : process,
    ...versions
      .filter((version) => version !== running)
      .map((version) => toRolloutProcess(process, rollout, version, revisions)),
  ];
}

/** Clients read a deployment's process at once, before it has an LRP. */
function versionToCome(process: Process, rollout: Rollout): WebVersion[] {
  const guid = rolloutProcessGUID(rollout);
  if (rollout.spec.cancelled || rollout.status?.web?.some((version) => version.guid === guid)) return [];
  const { limit, maxInFlight } = goalOf(rollout, process.spec.instances ?? defaultInstances("web"));
  return [{ lrp: "", guid, revision: "", instances: Math.min(limit, maxInFlight), running: 0 }];
}

function toRolloutProcess(
  process: Process,
  rollout: Rollout,
  version: WebVersion,
  revisions: readonly Revision[],
): Process {
  const { memoryMB, diskMB, logRateLimitBytesPerSecond } = rollout.spec;
  const revision = revisions.find(({ spec }) => String(spec.version) === version.revision);
  const {
    type: _type,
    runner: _runner,
    ...snapshot
  } = revision?.spec.processes.find(({ type }) => type === "web") ?? {
    type: "web",
    runner: "",
    ...omitUndefined({ memoryMB, diskMB, logRateLimitBytesPerSecond }),
  };
  const made: Process = {
    ...process,
    metadata: {
      ...process.metadata,
      labels: { ...process.metadata.labels, [LABELS.guid]: version.guid },
      ...(rollout.metadata.creationTimestamp && { creationTimestamp: rollout.metadata.creationTimestamp }),
    },
    spec: { ...process.spec, ...snapshot, instances: version.instances },
    status: {
      ...process.status,
      lrp: version.lrp || undefined,
      revision: revision?.metadata.name,
    },
  };
  rolloutProcesses.add(made);
  return made;
}
