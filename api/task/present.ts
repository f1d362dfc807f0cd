// Presents a Task as CF's JSON.
import { Droplet } from "../../crds/droplet/droplet.ts";
import { waitsForQuota } from "../../crds/org-quota/counts.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { sequenceOf } from "../../crds/task/sequence.ts";
import { Task } from "../../crds/task/task.ts";
import type { Session } from "../access/session.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { appGUIDOf, appOf } from "../cf/app/owner-app.ts";
import type { CacheKey } from "../lists/cached-json.ts";
import { link, presentIdentity, presentMetadata, toOneRelationship } from "../http/presentation.ts";
import { APP_SECRETS } from "../cf/app/app-secrets.ts";

const ENDED = { Succeeded: "SUCCEEDED", Failed: "FAILED" } as const;

type TaskState = "PENDING" | "RUNNING" | "CANCELING" | (typeof ENDED)[keyof typeof ENDED];

/**
 * The CF state. As in CF a task is RUNNING from its creation on. PENDING is one, made with kubectl, that a quota keeps from its start.
 * A cancelled task is CANCELING until it has ended.
 */
export function taskState(task: Task): TaskState {
  const { spec, status } = task;
  if (status?.state === "Succeeded" || status?.state === "Failed") return ENDED[status.state];
  if (spec.cancelled) return "CANCELING";
  return waitsForQuota(task) ? "PENDING" : "RUNNING";
}

/** `withCommand` is false for callers who may not read secrets: commands may hold some. */
export function presentTask(cache: ClusterCache, task: Task, base: string, withCommand: boolean): object {
  const at = presentIdentity(cache, Task, task);
  const app = appGUIDOf(cache, task);
  const droplet = dropletGUIDOf(cache, task);
  const { spec, status } = task;
  const self = `${base}/v3/tasks/${at.guid}`;
  return {
    ...at,
    sequence_id: sequenceOf(task) ?? 0,
    name: displayNameOf(task),
    ...(withCommand && { command: spec.command }),
    user: spec.user ?? "vcap",
    state: taskState(task),
    memory_in_mb: spec.memoryMB,
    disk_in_mb: spec.diskMB,
    log_rate_limit_in_bytes_per_second: spec.logRateLimitBytesPerSecond,
    result: { failure_reason: status?.failureReason ?? null },
    droplet_guid: droplet,
    relationships: { app: toOneRelationship(app) },
    ...presentMetadata(task),
    links: {
      self: link(self),
      app: link(`${base}/v3/apps/${app}`),
      cancel: link(`${self}/actions/cancel`, "POST"),
      droplet: link(`${base}/v3/droplets/${droplet}`),
    },
  };
}

/** Everything besides the task that its presentation depends on. */
export function taskTextKey(cache: ClusterCache, task: Task, base: string, withCommand: boolean): CacheKey {
  return [
    base,
    cache.guid(Task, task),
    appGUIDOf(cache, task),
    dropletGUIDOf(cache, task),
    withCommand ? "with command" : "without",
  ];
}

/** GUID of the droplet; "" once it has been deleted, or while the app has none. */
function dropletGUIDOf(cache: ClusterCache, task: Task): string {
  const name = task.spec.dropletRef?.name ?? task.status?.droplet ?? appOf(cache, task)?.spec.droplet?.name;
  const found = name && cache.store(Droplet).find({ namespace: task.metadata.namespace ?? "", name });
  return found ? cache.guid(Droplet, found) : "";
}

/** Whether the caller may read the commands of an app. */
export function canReadCommands(session: Session, app: { namespace: string; name: string }): boolean {
  return session.allows({ ...APP_SECRETS, ...app });
}
