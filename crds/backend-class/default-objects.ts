// The BackendClasses of a new cluster: one runner and one router, so that an app pushed as an image starts. Nothing builds there yet.
import type { KubeObject } from "../../kube/api/object.ts";
import { systemObject } from "../settings-object.ts";
import { BackendClass } from "./backend-class.ts";

/** They do not set `default`: the only class of a role needs no mark, and what an operator marks outlives the next apply. */
export function backendClassObjects(): KubeObject[] {
  return [
    systemObject(BackendClass, "deployment", { role: "runner" }),
    systemObject(BackendClass, "ingress", { role: "router" }),
  ];
}
