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
  /** The variables of bound services; none without. */
  services: readonly EnvVar[];
  /** The value of VCAP_APPLICATION. */
  application: Readonly<Record<string, unknown>>;
  memoryMB: number;
}

/** Container defaults, the running group, the user's variables, then the platform's, which a user cannot override. A runner adds what differs by instance or machine (PORT, CF_INSTANCE_*, HOME, ...). */
export function planRunningEnv(input: RunningEnvInput): EnvVar[] {
  const { dropletKind, groupEnv, env, services, application, memoryMB } = input;
  const merged = new Map<string, EnvVar>();
  const set = (variable: EnvVar): unknown => merged.set(variable.name, variable);
  if (dropletKind !== "docker") set({ name: "LANG", value: "en_US.UTF-8" });
  for (const variable of groupEnv) set(variable);
  for (const variable of env) if (!isPlatformVariable(variable.name)) set(variable);
  set({ name: "VCAP_APPLICATION", value: JSON.stringify(application) });
  set({ name: "MEMORY_LIMIT", value: `${memoryMB}m` });
  for (const variable of orNoServices(services)) set(variable);
  return [...merged.values()];
}

/** The variables of bound services, or those that say that nothing is bound. */
export function orNoServices(services: readonly EnvVar[]): readonly EnvVar[] {
  return services.length > 0 ? services : Object.entries(systemEnv([])).map(([name, value]) => ({ name, value }));
}
