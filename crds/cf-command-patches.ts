// Verbs are fields: what each command of cf means on the resources. One table drives API, cup and the kubectl tests.

/** One verb: the cf command, the kind and the merge patch that says the same by kubectl. */
export interface CommandPatch {
  cf: string;
  kind: "App" | "Process";
  /** Merge patch of the object; `value` is the verb's argument, or an opaque new text. */
  patch: (value: string) => { spec: Record<string, unknown> };
}

export const COMMAND_PATCHES = {
  start: { cf: "start", kind: "App", patch: () => ({ spec: { state: "Started" } }) },
  stop: { cf: "stop", kind: "App", patch: () => ({ spec: { state: "Stopped" } }) },
  restart: { cf: "restart", kind: "App", patch: (value) => ({ spec: { state: "Started", restart: value } }) },
  setDroplet: { cf: "set-droplet", kind: "App", patch: (value) => ({ spec: { droplet: { name: value } } }) },
  rename: { cf: "rename", kind: "App", patch: (value) => ({ spec: { name: value } }) },
  scale: { cf: "scale -i", kind: "Process", patch: (value) => ({ spec: { instances: Number(value) } }) },
} as const satisfies Record<string, CommandPatch>;

/** Restarts one instance of a process: index to any new value. */
export function restartInstancePatch(index: number, value: string): { spec: Record<string, unknown> } {
  return { spec: { restartInstances: { [String(index)]: value } } };
}
