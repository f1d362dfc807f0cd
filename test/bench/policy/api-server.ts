// Writes to kube-apiserver by a client that waits for each, with the processor time that they cost.
import { execFile } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { App } from "../../../crds/app/app.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { BenchCluster } from "../cluster/bench-cluster.ts";
import { median } from "../figure.ts";

const run = promisify(execFile);

export interface Latency {
  p50: number;
  p99: number;
}

export interface WriteCost extends Latency {
  /** Processor time of kube-apiserver, in milliseconds a write. */
  cpuMs: number;
}

/** Percentiles of times in milliseconds. */
export function toLatency(times: readonly number[]): Latency {
  const sorted = [...times].sort((a, b) => a - b);
  return { p50: median(sorted), p99: sorted[Math.floor(sorted.length * 0.99)] ?? NaN };
}

/** Patches a label of apps, one after the other; each write is a change. */
export async function measureApiServerWrites(
  plane: BenchCluster,
  { namespace, names, rounds }: { namespace: string; names: readonly string[]; rounds: number },
): Promise<WriteCost> {
  const write = async (round: number, name: string): Promise<number> => {
    const start = performance.now();
    await plane.admin.patch(
      App,
      { namespace, name },
      { type: "merge", body: { metadata: { labels: { round: `r${round}` } } } },
    );
    return performance.now() - start;
  };
  for (const name of names) await write(Date.now(), name);
  const before = await apiServerMetrics(plane);
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) for (const name of names) times.push(await write(round, name));
  const after = await apiServerMetrics(plane);
  return { ...toLatency(times), cpuMs: ((after.cpuSeconds - before.cpuSeconds) * 1000) / times.length };
}

export interface Metrics {
  cpuSeconds: number;
  residentBytes: number;
}

/** As kube-apiserver tells of itself. */
export async function apiServerMetrics({ controlPlane: { kubectl, kubeconfig } }: BenchCluster): Promise<Metrics> {
  const { stdout } = await run(kubectl, ["--kubeconfig", kubeconfig, "get", "--raw", "/metrics"], {
    maxBuffer: 64 * 1024 * 1024,
    timeout: 30_000,
  });
  return toMetrics(stdout);
}

/** The processor time and memory in a text of Prometheus. */
export function toMetrics(text: string): Metrics {
  const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? NaN);
  return { cpuSeconds: value("process_cpu_seconds_total"), residentBytes: value("process_resident_memory_bytes") };
}

/** Polls without a pause that would blur a time of some hundred milliseconds. */
export async function timeUntil(check: () => Promise<boolean>, deadlineMs = 60_000): Promise<number> {
  const start = performance.now();
  while (!(await check())) {
    if (performance.now() - start > deadlineMs) throw new Error(`not within ${deadlineMs / 1000} s`);
    await delay(10);
  }
  return performance.now() - start;
}

/** Whether kube-apiserver refuses an app without labels in the namespace, by dry run. */
export async function isDenied(
  admin: KubeClient,
  namespace: string,
  labels: Record<string, string> = {},
): Promise<boolean> {
  try {
    await admin.create(App, { metadata: { namespace, name: "probe", labels }, spec: {} }, { dryRun: true });
    return false;
  } catch {
    return true;
  }
}
