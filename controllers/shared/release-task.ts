// The task of a release command: its name, and what it says of the version that waits for it. Pure.
import type { App } from "../../crds/app/app.ts";
import type { Droplet } from "../../crds/droplet/droplet.ts";
import { generatedName } from "../../crds/object-names.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import type { Task } from "../../crds/task/task.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";

/** The process type whose command is run as a task. */
export const RELEASE_TYPE = "release";

/** Reason of a run of the command: a Rollout, or a start or restart. */
export function releaseAttempt(app: App, droplet: Droplet, rollout: Rollout | undefined): string {
  return `${app.metadata.uid}/${droplet.metadata.uid}/${rollout?.metadata.uid ?? app.spec.restart ?? ""}`;
}

export function releaseTaskName(app: App, attempt: string): string {
  return generatedName(`${app.metadata.name}-${RELEASE_TYPE}`, attempt);
}

/** Why the version does not start yet; undefined once its task has succeeded. `task` is the task of that draft, once there is one. */
export function findReleaseProblem(task: Task | undefined): ReadyDraft | undefined {
  const { state, failureReason = "no reason given", conditions = [] } = task?.status ?? {};
  if (state === "Succeeded") return undefined;
  if (state === "Failed")
    return {
      status: "False",
      reason: "ReleaseFailed",
      message: `the release command failed: ${failureReason}; cf logs --recent shows its last lines; a restart runs it again`,
      isFailure: true,
    };
  const obstacle = conditions.find(({ type, status }) => type === "Ready" && status === "False")?.message;
  return {
    status: "False",
    reason: "Releasing",
    message: obstacle ? `the release command waits: ${obstacle}` : "the release command runs",
  };
}
