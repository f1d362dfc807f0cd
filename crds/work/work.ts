// The Work kind: an object that the hub wants on a cluster which it cannot call. The cluster's agent makes it there and reports its status.
import { z } from "zod";
import { readyStatus, withRules, type Resource } from "../../kube/api/resource.ts";
import { CATEGORY, WORKLOADS_GROUP } from "../groups.ts";
import { defineKind } from "../kind.ts";
import { LRP } from "../lrp/lrp.ts";
import { RouteBinding } from "../route-binding/route-binding.ts";
import { TaskRun } from "../task-run/task-run.ts";

const anyObject = z
  .unknown()
  .meta({ type: "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-map-type": "atomic" });

export const Work = defineKind({
  group: WORKLOADS_GROUP,
  kind: "Work",
  plural: "works",
  namespaced: true,
  livesIn: ["system"],
  isReadByAPI: false,
  shortNames: ["cfwork"],
  categories: [CATEGORY],
  description:
    "An object that the platform wants on a cluster of mode pull, in the namespace cupola-cluster-NAME. The cluster's agent makes it there and reports its status. Only the platform writes it.",
  columns: [
    { name: "Kind", jsonPath: ".spec.kind" },
    { name: "Object", jsonPath: ".spec.manifest.metadata.name" },
    { name: "Namespace", jsonPath: ".spec.manifest.metadata.namespace" },
  ],
  spec: z.object({
    kind: withRules(z.string().min(1).max(63), [{ rule: "self == oldSelf", message: "kind is immutable" }]),
    manifest: anyObject.describe("The object, with the platform's marks."),
    remove: z
      .boolean()
      .default(false)
      .describe("Set before the Work is deleted. Without it the agent keeps the object when the Work goes."),
  }),
  status: readyStatus({
    lrp: LRP.status.optional().describe("Status of the LRP there."),
    taskRun: TaskRun.status.optional().describe("Status of the TaskRun there."),
    routeBinding: RouteBinding.status.optional().describe("Status of the RouteBinding there."),
  }),
});
export type Work = Resource<typeof Work>;
