// The variables that a group gives to apps. Pure.
import { isPlatformVariable } from "../app/vcap.ts";
import type { EnvVar } from "../schema-fields.ts";
import type { EnvironmentGroup } from "./environment-group.ts";

/** Without the names that only the platform sets; none without the object. */
export function groupVariables(group: Pick<EnvironmentGroup, "spec"> | undefined): EnvVar[] {
  return Object.entries(group?.spec.variables ?? {})
    .filter(([name]) => !isPlatformVariable(name))
    .map(([name, value]) => ({ name, value }));
}
