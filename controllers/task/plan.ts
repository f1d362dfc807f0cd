// Translates a Task to its TaskRun, and a TaskRun's status to the Task's. Pure.
import { cutDetails } from "../../crds/details.ts";
import { vcapApplication } from "../../crds/app/vcap.ts";
import type { Droplet } from "../../crds/droplet/droplet.ts";
import { toRunnable } from "../../crds/droplet/rules.ts";
import { deriveGUID } from "../../crds/guid.ts";
import { ANNOTATIONS, LABELS } from "../../crds/labels.ts";
import { displayNameOf, generatedName } from "../../crds/object-names.ts";
import type { EnvVar } from "../../crds/schema-fields.ts";
import type { Task } from "../../crds/task/task.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";
import { NotReady, type ReadyDraft, type ReconcileResult } from "../../kube/controller/controller.ts";
import { toDropletArtifact } from "../shared/droplet-artifact.ts";
import { refusePullSecret } from "../shared/refuse-elsewhere.ts";
import { planRunningEnv } from "../shared/running-env.ts";
import type { ServicesSnapshot } from "../shared/services-snapshot.ts";
import { tenancyLabels, type Tenancy } from "../shared/tenancy.ts";

export interface TaskInput {
  task: Task;
  taskGUID: string;
  app: { guid: string; name: string };
  tenancy: Tenancy;
  droplet: Droplet;
  /** The variables of the environment group `running`. */
  groupEnv: readonly EnvVar[];
  /** The app's variables, secrets by reference. */
  env: readonly EnvVar[];
  services: ServicesSnapshot;
  apiURL: string;
  /** URLs that reach the app, without scheme. */
  uris: readonly string[];
  /** The BackendClass that runs it. */
  className: string;
}

/** The name of a task's TaskRun. */
export function taskRunName(task: Task): string {
  const { name, uid } = task.metadata;
  return generatedName(name, uid ?? "");
}

export function planTaskRun(input: TaskInput): Draft {
  const { task, tenancy, app } = input;
  const { labels, annotations } = tenancyLabels(tenancy);
  const name = displayNameOf(task);
  const { command, memoryMB, diskMB, cpu, logRateLimitBytesPerSecond, timeoutSeconds, user, cancelled } = task.spec;
  return {
    apiVersion: apiVersionOf(TaskRun),
    kind: TaskRun.kind,
    metadata: {
      name: taskRunName(task),
      namespace: task.metadata.namespace,
      labels: {
        ...labels,
        [LABELS.guid]: deriveGUID("task-run", task.metadata.uid ?? ""),
        [LABELS.app]: app.guid,
        [LABELS.sourceType]: "TASK",
      },
      annotations: { ...annotations, [ANNOTATIONS.appName]: app.name, [ANNOTATIONS.taskName]: name },
    },
    spec: omitUndefined({
      class: input.className,
      app,
      space: tenancy.space,
      org: tenancy.org,
      taskGUID: input.taskGUID,
      taskName: name,
      droplet: toDropletArtifact(input.droplet),
      command,
      env: planTaskEnv(input),
      ...mountsOf(input.services),
      memoryMB,
      diskMB,
      cpu,
      logRateLimitBytesPerSecond,
      timeoutSeconds,
      user,
      cancelled,
    }),
  };
}

/** As another cluster has it: with a name that a restored platform finds. @throws NotReady when it needs what only the platform's own cluster has */
export function toRemoteRun(
  run: Draft,
  { name, guid, hub }: { name: string; guid: string; hub: string | undefined },
): Draft {
  const { volumes = [], droplet } = run["spec"] as TaskRun["spec"];
  refusePullSecret(droplet);
  if (volumes.length > 0)
    throw new NotReady(
      "VolumesElsewhere",
      "the task mounts volumes of bound services, which are on the platform's own cluster only: start the app once and run the task again, and it is placed there, where its segment's placement includes cluster local",
      { isFailure: true },
    );
  return { ...run, metadata: { ...run.metadata, name: generatedName(name, `${hub}/${guid}`) } };
}

const mountsOf = ({ files, volumes }: ServicesSnapshot): Pick<TaskRun["spec"], "serviceFiles" | "volumes"> =>
  omitUndefined({ serviceFiles: files, volumes });

function planTaskEnv(input: TaskInput): EnvVar[] {
  const { task, app, tenancy, droplet, groupEnv, env, services, apiURL, uris } = input;
  const { memoryMB, diskMB } = task.spec;
  const application = vcapApplication({
    apiURL,
    app,
    space: tenancy.space,
    org: tenancy.org,
    uris,
    limits: { memoryMB, diskMB },
    version: deriveGUID("task", task.metadata.uid ?? ""),
  });
  return planRunningEnv({
    dropletKind: toRunnable(droplet).kind,
    groupEnv,
    env,
    services: services.env,
    application,
    memoryMB,
  });
}

/** The spec of a running TaskRun stays as it is, but for its cancellation. */
export function planTaskRunUpdate(run: TaskRun, { cancelled }: Task["spec"]): Draft {
  const { name, namespace, labels, annotations } = run.metadata;
  return {
    apiVersion: apiVersionOf(TaskRun),
    kind: TaskRun.kind,
    metadata: { name, namespace, labels: pickOwnedKeys(labels), annotations: pickOwnedKeys(annotations) },
    spec: { ...run.spec, cancelled: cancelled || run.spec.cancelled },
  };
}

const OWNED_KEYS: ReadonlySet<string> = new Set([
  LABELS.guid,
  LABELS.app,
  LABELS.space,
  LABELS.org,
  LABELS.sourceType,
  ANNOTATIONS.appName,
  ANNOTATIONS.spaceName,
  ANNOTATIONS.orgName,
  ANNOTATIONS.taskName,
]);

function pickOwnedKeys(values: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(values ?? {}).filter(([key]) => OWNED_KEYS.has(key)));
}

/** The status of a task, from its run if there is one yet. A missing field is removed. */
export function planTaskStatus(
  task: Task,
  { sequenceID, droplet, run }: { sequenceID: number; droplet: string | undefined; run: TaskRun | undefined },
): Pick<ReconcileResult, "status" | "ready"> {
  const { state = "Pending", details, startedAt, finishedAt } = run?.status ?? {};
  const failureReason = state === "Failed" ? toFailureReason(task, details) : undefined;
  return {
    status: { state, sequenceID, failureReason, droplet, startedAt, finishedAt },
    ready: toReady(state, failureReason ?? details),
  };
}

/** A task that cannot run any more. */
export function planFailedTask(sequenceID: number, failureReason: string, now: Date): ReconcileResult {
  return {
    status: { state: "Failed", sequenceID, failureReason, finishedAt: now.toISOString() },
    ready: toReady("Failed", failureReason),
  };
}

/** As Diego words it: an exit names the source of the task's log. */
function toFailureReason(task: Task, details = "the run failed"): string {
  const text = details.startsWith("Exited with ") ? `APP/TASK/${displayNameOf(task)}: ${details}` : details;
  return cutDetails(text);
}

function toReady(state: NonNullable<TaskRun["status"]>["state"], message = ""): ReadyDraft {
  if (state === "Succeeded") return { status: "True", reason: "Succeeded", message: "" };
  return {
    status: "False",
    reason: state ?? "Pending",
    message,
    ...((state === "Failed" || message !== "") && { isFailure: true as const }),
  };
}
