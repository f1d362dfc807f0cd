// An idle platform with a thousand apps must not write.
import { setTimeout as delay } from "node:timers/promises";
import { type Figure, figure } from "./figure.ts";
import type { Requests } from "./platform-process.ts";
import type { ThousandApps } from "./thousand-apps.ts";

const MINUTE_MS = 60_000;

/** Counts for one minute, at the API server (every write makes a version) and at the platform. */
export async function measureIdle({ apiserver, platform }: ThousandApps): Promise<Figure[]> {
  const seen = async (): Promise<{ version: number; requests: Requests; cpu: number }> => ({
    version: await apiserver.request<number>("version"),
    requests: await platform.request<Requests>("requests"),
    cpu: await platform.request<number>("cpu"),
  });
  const before = await seen();
  await delay(MINUTE_MS);
  const after = await seen();
  return [
    figure(
      "idle writes per minute (leases apart)",
      after.version - before.version - (after.requests.leases - before.requests.leases),
      "writes",
      { max: 0 },
    ),
    figure("idle write requests per minute", after.requests.writes - before.requests.writes, "requests", { max: 0 }),
    figure("idle processor time", (after.cpu - before.cpu) / (MINUTE_MS * 10), "% of one core"),
  ];
}
