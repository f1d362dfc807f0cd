// `cup app`: one app, its processes and their instances.
import type { Context } from "../context.ts";
import { describeCrashes, readCrashes } from "./crashes.ts";
import { bytes, fields, table, type Result } from "../output.ts";
import { readViolations, toViolationLines } from "../policy/shown-violations.ts";
import { labelOf, ratio, readProcesses, readUrls, type Instance, type ProcessState } from "./process-state.ts";

export async function showApp(context: Context, name: string): Promise<Result> {
  const app = await context.app(name);
  const [processes, urls, events, violations] = await Promise.all([
    readProcesses(context, app),
    readUrls(context, app),
    readCrashes(context, app),
    readViolations(context, "apps", app.guid),
  ]);
  const crashes = describeCrashes(events, new Date());
  const text = [
    ...fields([
      ["name", app.name],
      ["state", String(app["state"]).toLowerCase()],
      ["urls", urls.join(", ") || "none: cup map-route"],
      ["guid", app.guid],
      ...(crashes === undefined ? [] : [["crashes", crashes] as const]),
    ]),
    ...processes
      .filter((state) => state.process.instances > 0)
      .flatMap((state) => toText(state, labelOf(state, processes))),
    ...toViolationLines(violations),
  ];
  return {
    json: {
      ...app,
      urls,
      crashes: events,
      policy_violations: violations,
      processes: processes.map(({ process, instances }) => ({
        ...process,
        instances: process.instances,
        stats: instances,
      })),
    },
    text,
  };
}

function toText(state: ProcessState, label: string): string[] {
  const { process, instances } = state;
  return [
    "",
    ...fields([
      ["process", label],
      ["instances", ratio(state)],
      ["memory", `${process.memory_in_mb}M`],
    ]),
    ...table(["#", "state", "up", "cpu", "memory", "disk", "details"], instances.map(toRow)),
  ];
}

function toRow(instance: Instance): string[] {
  const { cpu, mem, disk } = instance.usage ?? {};
  return [
    `#${instance.index}`,
    stateOf(instance),
    instance.uptime === undefined ? "" : duration(instance.uptime),
    cpu === undefined ? "" : `${(cpu * 100).toFixed(1)}%`,
    formatShare(mem, instance.mem_quota),
    formatShare(disk, instance.disk_quota),
    instance.details ?? "",
  ];
}

function stateOf({ state, routable }: Instance): string {
  return state.toLowerCase() + (state === "RUNNING" && routable === false ? " (not ready)" : "");
}

function formatShare(used: number | undefined, quota: number | null | undefined): string {
  return used === undefined ? "" : `${bytes(used)} of ${bytes(quota ?? 0)}`;
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)}h` : `${Math.round(seconds / 86_400)}d`;
}
