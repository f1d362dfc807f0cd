// `cup app`: one app, its processes and their instances.
import type { Context } from "../context.ts";
import { bytes, fields, table, type Result } from "../output.ts";
import { ratio, readProcesses, readUrls, type Instance, type ProcessState } from "./state.ts";

export async function showApp(context: Context, name: string): Promise<Result> {
  const app = await context.app(name);
  const [processes, urls] = await Promise.all([readProcesses(context, app), readUrls(context, app)]);
  const text = [
    ...fields([["name", app.name], ["state", String(app["state"]).toLowerCase()], ["urls", urls.join(", ") || "none: cup map-route"], ["guid", app.guid]]),
    ...processes.filter((state) => state.process.instances > 0).flatMap(toText),
  ];
  return { json: { ...app, urls, processes: processes.map(({ process, instances }) => ({ ...process, instances: process.instances, stats: instances })) }, text };
}

function toText(state: ProcessState): string[] {
  const { process, instances } = state;
  return [
    "",
    ...fields([["process", process.type], ["instances", ratio(state)], ["memory", `${process.memory_in_mb}M`]]),
    ...table(["#", "state", "up", "cpu", "memory", "disk", "details"], instances.map(toRow)),
  ];
}

function toRow(instance: Instance): string[] {
  const { usage } = instance;
  return [
    `#${instance.index}`,
    instance.state.toLowerCase() + (instance.state === "RUNNING" && instance.routable === false ? " (not ready)" : ""),
    instance.uptime === undefined ? "" : duration(instance.uptime),
    usage?.cpu === undefined ? "" : `${(usage.cpu * 100).toFixed(1)}%`,
    usage?.mem === undefined ? "" : `${bytes(usage.mem)} of ${bytes(instance.mem_quota ?? 0)}`,
    usage?.disk === undefined ? "" : `${bytes(usage.disk)} of ${bytes(instance.disk_quota ?? 0)}`,
    instance.details ?? "",
  ];
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)}h` : `${Math.round(seconds / 86_400)}d`;
}
