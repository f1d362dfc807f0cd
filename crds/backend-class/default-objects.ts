// The BackendClasses of a new cluster: one runner, one runner of tasks and one router, enough to run an app from an image. There is no builder yet.
import type { KubeObject } from "../../kube/api/object.ts";
import { systemObject } from "../settings-object.ts";
import { BackendClass } from "./backend-class.ts";

/** Leaves `default` unset: the only class of a role is its default, and a later apply keeps an operator's choice. */
export function backendClassObjects(): KubeObject[] {
  return [
    systemObject(BackendClass, "deployment", { role: "runner" }),
    systemObject(BackendClass, "job", { role: "task-runner" }),
    systemObject(BackendClass, "ingress", { role: "router" }),
  ];
}
