// The environment variable groups, as the API reads them.
import {
  ENVIRONMENT_GROUPS,
  EnvironmentGroup,
  type EnvironmentGroupName,
} from "../../../crds/environment-group/environment-group.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";

export function isGroupName(name: string): name is EnvironmentGroupName {
  return (ENVIRONMENT_GROUPS as readonly string[]).includes(name);
}

/** Undefined until somebody sets a variable, on a platform that was installed without the objects. */
export function findGroup(cache: ClusterCache, name: EnvironmentGroupName): EnvironmentGroup | undefined {
  return cache.store(EnvironmentGroup).find({ namespace: SYSTEM_NAMESPACE, name });
}

/** The variables of a group by name. */
export function variablesOfGroup(cache: ClusterCache, name: EnvironmentGroupName): Record<string, string> {
  return findGroup(cache, name)?.spec.variables ?? {};
}
