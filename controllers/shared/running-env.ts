// The environment that an app's processes and tasks share, by Cloud Foundry's precedence. Pure.
import { isPlatformVariable, systemEnv } from "../../crds/app/vcap.ts";
import type { Droplet } from "../../crds/droplet/droplet.ts";
import type { EnvVar } from "../../crds/schema-fields.ts";

export interface RunningEnvInput {
  dropletKind: Droplet["spec"]["kind"];
  /** The variables of the environment group `running`. */
  groupEnv: readonly EnvVar[];
  /** The user's variables. */
  env: readonly EnvVar[];
  /** The value of VCAP_APPLICATION. */
  application: Readonly<Record<string, unknown>>;
  memoryMB: number;
}

/** Container defaults, the running group, the user's variables, then the platform's, which a user cannot override. A runner adds what differs by instance or machine (PORT, CF_INSTANCE_*, HOME, ...). */
export function planRunningEnv({ dropletKind, groupEnv, env, application, memoryMB }: RunningEnvInput): EnvVar[] {
  const merged = new Map<string, EnvVar>();
  const set = (variable: EnvVar): unknown => merged.set(variable.name, variable);
  if (dropletKind !== "docker") set({ name: "LANG", value: "en_US.UTF-8" });
  for (const variable of groupEnv) set(variable);
  for (const variable of env) if (!isPlatformVariable(variable.name)) set(variable);
  set({ name: "VCAP_APPLICATION", value: JSON.stringify(application) });
  set({ name: "MEMORY_LIMIT", value: `${memoryMB}m` });
  for (const [name, value] of Object.entries(systemEnv([]))) set({ name, value });
  return [...merged.values()];
}
