// A TaskRun and an LRP in a namespace of their own, as the platform's controllers would make them.
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { TaskRun } from "../../../crds/task-run/task-run.ts";
import { Namespace } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";

/** Creates the namespace, the TaskRun `task` of class `job`, and the LRP `lrp` of class `statefulset` with two instances. */
export async function createWorkloads(client: KubeClient, namespace: string, image: string): Promise<void> {
  await client.create(Namespace, { metadata: { name: namespace, labels: { [LABELS.namespaceKind]: "space" } } });
  const identity = { guid: "guid", name: "name" };
  const shared = {
    app: identity,
    space: identity,
    org: identity,
    droplet: { guid: "droplet", kind: "docker", image },
    memoryMB: 64,
    diskMB: 64,
  };
  await client.create(TaskRun, {
    metadata: { namespace, name: "task" },
    spec: { ...shared, class: "job", taskGUID: "task", taskName: "task", command: "true" },
  });
  await client.create(LRP, {
    metadata: { namespace, name: "lrp", labels: { [LABELS.app]: "guid" } },
    spec: {
      ...shared,
      class: "statefulset",
      rendering: "1",
      processGUID: "p",
      processType: "web",
      revision: "1",
      version: "1",
      ports: [],
      instances: 2,
      healthCheck: { type: "process" },
      readinessHealthCheck: { type: "process" },
    },
  });
}
