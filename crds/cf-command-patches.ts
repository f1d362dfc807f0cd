// Maps cf commands to patches of resources. One table drives the API, cup and the kubectl tests.

/** A cf command, and the equivalent merge patch for kubectl. */
export interface CommandPatch {
  cf: string;
  kind: "App" | "Process";
  /** Merge patch of the object; `value` is the command's argument, or any new text. */
  patch: (value: string) => { spec: Record<string, unknown> };
}

export const COMMAND_PATCHES = {
  start: { cf: "start", kind: "App", patch: () => ({ spec: { state: "Started" } }) },
  stop: { cf: "stop", kind: "App", patch: () => ({ spec: { state: "Stopped" } }) },
  restart: { cf: "restart", kind: "App", patch: (value) => ({ spec: { state: "Started", restart: value } }) },
  setDroplet: { cf: "set-droplet", kind: "App", patch: (value) => ({ spec: { droplet: { name: value } } }) },
  clearBuildCache: {
    cf: "curl -X POST /v3/apps/GUID/actions/clear_buildpack_cache",
    kind: "App",
    patch: (value) => ({ spec: { buildCache: value } }),
  },
  rename: { cf: "rename", kind: "App", patch: (value) => ({ spec: { name: value } }) },
  scale: { cf: "scale -i", kind: "Process", patch: (value) => ({ spec: { instances: Number(value) } }) },
} as const satisfies Record<string, CommandPatch>;

/** Restarts one instance of a process; `value` is any new value. */
export function restartInstancePatch(index: number, value: string): { spec: Record<string, unknown> } {
  return { spec: { restartInstances: { [String(index)]: value } } };
}
