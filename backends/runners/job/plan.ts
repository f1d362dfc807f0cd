// Renders a TaskRun as a Job. Pure. It is rendered once, when the task starts, so another version of the platform changes no running task.
import { ANNOTATIONS, LABELS } from "../../../crds/labels.ts";
import type { TaskRun } from "../../../crds/task-run/task-run.ts";
import type { Draft } from "../../../kube/client/client.ts";
import { contractMetadata, planContainer, planRestrictedPod } from "../../pods/pod-template.ts";

export function planJob(task: TaskRun): Draft {
  const { metadata, spec } = task;
  const { labels, annotations } = contractMetadata(metadata);
  const contract = {
    labels: { ...labels, [LABELS.sourceType]: "TASK", [LABELS.taskRun]: metadata.name },
    annotations: { ...annotations, [ANNOTATIONS.taskName]: spec.taskName },
  };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: metadata.name, namespace: metadata.namespace, ...contract },
    spec: {
      // A task runs at most once.
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      ...(spec.timeoutSeconds !== undefined && { activeDeadlineSeconds: spec.timeoutSeconds }),
      template: {
        metadata: contract,
        spec: {
          ...planRestrictedPod(spec),
          restartPolicy: "Never",
          containers: [planContainer({ ...spec, ports: [] })],
        },
      },
    },
  };
}
