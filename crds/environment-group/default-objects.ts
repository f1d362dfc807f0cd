// The two EnvironmentGroups of a new platform, empty, so that `kubectl edit cfenvgroup running` finds them.
import type { KubeObject } from "../../kube/api/object.ts";
import { systemObject } from "../settings-object.ts";
import { ENVIRONMENT_GROUPS, EnvironmentGroup } from "./environment-group.ts";

/** The spec is empty, so that a later apply keeps an operator's variables. */
export function environmentGroupObjects(): KubeObject[] {
  return ENVIRONMENT_GROUPS.map((name) => systemObject(EnvironmentGroup, name, {}));
}
