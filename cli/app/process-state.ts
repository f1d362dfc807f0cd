// State of an app's instances as the API gives it, and as people read it.
import type { ApiClient, Json, Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import { findOwnCupola } from "../target/resolve-target.ts";

export interface Instance {
  index: number;
  state: string;
  routable?: boolean;
  uptime?: number;
  details?: string | null;
  usage?: { cpu?: number; mem?: number; disk?: number };
  mem_quota?: number | null;
  disk_quota?: number | null;
}

export interface Process extends Resource {
  type: string;
  instances: number;
  memory_in_mb: number;
  disk_in_mb: number;
}

export interface ProcessState {
  process: Process;
  instances: Instance[];
}

/** Processes of an app with their instances; those with no instances wanted too. */
export async function readProcesses({ api }: Context, app: Resource): Promise<ProcessState[]> {
  const processes = await api.list<Process>(`/v3/apps/${app.guid}/processes`);
  return Promise.all(
    processes.map(async (process) => ({
      process,
      instances: (await api.request<{ resources: Instance[] }>("GET", `/v3/processes/${process.guid}/stats`)).resources,
    })),
  );
}

/** Addresses of an app, with the port where the platform's own router listens. */
export async function readUrls({ api }: Context, app: Resource): Promise<string[]> {
  const routes = await api.list(`/v3/apps/${app.guid}/routes`);
  return routes.map(toAddress(api));
}

/** A route as a browser takes it: a laptop's router shares scheme and port with the API, whatever the domain. */
export function toAddress({ base: api }: Pick<ApiClient, "base">): (route: Resource) => string {
  const { protocol, port } = new URL(api);
  const isLaptop = findOwnCupola(api) !== undefined;
  return (route) => {
    const [host = "", ...path] = String(route["url"]).split("/");
    const local = isLaptop || (host.endsWith(".localhost") && port !== "");
    const base = local ? `${protocol}//${host}${port && `:${port}`}` : `https://${host}`;
    return [base, ...path].join("/");
  };
}

/** The type of a process; a rollout runs two of the type `web`, the new one last. Pure. */
export function labelOf({ process }: ProcessState, all: readonly ProcessState[]): string {
  const same = all.filter((one) => one.process.type === process.type);
  if (same.length < 2) return process.type;
  return `${process.type} (${process.guid === same.at(-1)?.process.guid ? "new" : "old"} version)`;
}

/** `running/wanted` of one process. */
export function ratio({ process, instances }: ProcessState): string {
  return `${instances.filter((instance) => instance.state === "RUNNING").length}/${process.instances}`;
}

/** `running/wanted` of each process. */
export function summarise(app: Json, processes: readonly ProcessState[]): string {
  return app["state"] === "STOPPED"
    ? "stopped"
    : processes.map((state) => `${state.process.type}:${ratio(state)}`).join(", ");
}

/** An app in a word. */
export type AppState = "running" | "starting" | "crashing" | "down" | "stopped" | "failed";

/** The worst of its processes; `failed`: it is stopped, or has no droplet, since its newest build failed. Pure. */
export function stateOf(app: Json, processes: readonly ProcessState[], hasFailedBuild: boolean): AppState {
  if (hasFailedBuild) return "failed";
  if (app["state"] === "STOPPED") return "stopped";
  const states = processes.flatMap(({ instances }) => instances.map(({ state }) => state));
  if (states.includes("CRASHED")) return "crashing";
  if (states.includes("DOWN")) return "down";
  return states.includes("STARTING") ? "starting" : "running";
}
