// The process type `release`: its command runs as a task before the first version with a droplet starts. While it runs, or when it fails, the version before stays. Pure.
import type { App } from "../../crds/app/app.ts";
import type { Droplet } from "../../crds/droplet/droplet.ts";
import { deriveGUID } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import type { Process } from "../../crds/process/process.ts";
import type { Revision } from "../../crds/revision/revision.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import { Task } from "../../crds/task/task.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";
import { toOwnerReference } from "../shared/app-owned.ts";
import { RELEASE_TYPE, releaseAttempt, releaseTaskName } from "../shared/release-task.ts";

export interface ReleaseInput {
  app: App;
  guid: string;
  droplet: Droplet;
  processes: readonly Process[];
  revisions: readonly Revision[];
  /** The Rollout that starts the version; undefined for a start or restart. */
  rollout: Rollout | undefined;
}

/** The task that has to succeed before the version starts; undefined when there is none. A new start, restart or Rollout after a failure runs it again. */
export function planReleaseTask(input: ReleaseInput): Draft | undefined {
  const { app, guid, droplet, processes, revisions, rollout } = input;
  const release = processes.find(({ spec }) => spec.type === RELEASE_TYPE)?.spec;
  const command = release?.command ?? findCommand(droplet);
  const isReleased = revisions.some(({ spec }) => spec.dropletRef.name === droplet.metadata.name);
  if (command === undefined || isReleased) return undefined;
  const unique = releaseAttempt(app, droplet, rollout);
  const { memoryMB, diskMB, cpu, logRateLimitBytesPerSecond, user } = release ?? {};
  return {
    apiVersion: apiVersionOf(Task),
    kind: Task.kind,
    metadata: {
      name: releaseTaskName(app, unique),
      namespace: app.metadata.namespace,
      labels: { [LABELS.guid]: deriveGUID("release-task", unique), [LABELS.app]: guid },
      ownerReferences: [toOwnerReference(app)],
    },
    spec: {
      ...omitUndefined({ memoryMB, diskMB, cpu, logRateLimitBytesPerSecond, user }),
      appRef: { name: app.metadata.name },
      name: RELEASE_TYPE,
      command,
      dropletRef: { name: droplet.metadata.name },
    },
  };
}

function findCommand({ spec }: Droplet): string | undefined {
  return Object.hasOwn(spec.processTypes, RELEASE_TYPE) ? spec.processTypes[RELEASE_TYPE] || undefined : undefined;
}
