// A refusal by a quota names the quota and a size that fits, whatever asked.
import { expect, test } from "vitest";
import { scale } from "../app/scale.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { silentProgress } from "../output.ts";
import { FREE_SOME } from "../quota/refusal.ts";
import { runTask } from "../task/run.ts";
import { runVerb } from "../app/verbs.ts";
import { startDeployment } from "../rollout/deployment.ts";
import { withAdvice } from "./with-advice.ts";

const ANSWERS: Readonly<Record<string, object>> = {
  "/v3/apps/a/processes/web": { instances: 2, memory_in_mb: 64 },
  "/v3/organizations/o": { relationships: { quota: { data: { guid: "q" } } } },
  "/v3/organizations/o/usage_summary": { usage_summary: { memory_in_mb: 512, started_instances: 2 } },
  "/v3/organization_quotas/q": {
    name: "small",
    apps: { total_memory_in_mb: 768, per_process_memory_in_mb: null, total_instances: null },
  },
};

function contextOf(state: string, readable = true): Context {
  const request = (method: string, path: string): Promise<unknown> => {
    if (method === "POST") return Promise.reject(new Failure("memory quota_exceeded"));
    const answer = readable ? ANSWERS[path] : undefined;
    return answer ? Promise.resolve(answer) : Promise.reject(new Failure("not found"));
  };
  return {
    api: { request },
    progress: silentProgress,
    app: () => Promise.resolve({ guid: "a", name: "shop", state }),
    org: () => Promise.resolve({ guid: "o", name: "acme" }),
  } as unknown as Context;
}

const MESSAGE = "memory quota_exceeded (org quota small: 512M used and 256M left of 768M of memory)";

test.each([
  ["STARTED", { memory: "1G" }, "cup scale shop -m 192M"],
  ["STARTED", { instances: 6 }, "cup scale shop -i 6 -m 64M"],
  ["STOPPED", { memory: "1G" }, "cup scale shop -m 128M"],
])("cup scale of a %s app, %j", async (state, options, next) => {
  const scaled = scale(contextOf(state), "shop", { process: "web", ...options });
  await expect(scaled).rejects.toMatchObject({ message: MESSAGE, next });
});

test.each([
  [true, MESSAGE, "cup push shop -m 128M"],
  [false, "memory quota_exceeded", FREE_SOME],
])("cup push by a person who may read the quota, %s", async (readable, message, next) => {
  const context = contextOf("STOPPED", readable);
  const asked = { app: "shop", command: "cup push shop" };
  const pushed = withAdvice(context, asked, () => context.api.request("POST", "/v3/apps/a/actions/start"));
  await expect(pushed).rejects.toMatchObject({ message, next });
});

test.each([
  ["start", "cup scale shop -m 128M && cup start shop"],
  ["restart", "cup scale shop -m 128M && cup restart shop"],
] as const)("cup %s", async (verb, next) => {
  await expect(runVerb(contextOf("STOPPED"), verb, "shop")).rejects.toMatchObject({ message: MESSAGE, next });
});

test("cup run keeps its command", async () => {
  const run = runTask(contextOf("STARTED"), "shop", ["rake", "db:migrate"], { memory: "1G" });
  await expect(run).rejects.toMatchObject({ message: MESSAGE, next: "cup run shop -m 256M -- rake db:migrate" });
});

test("a rollout needs room beside what runs", async () => {
  const app = { guid: "a", name: "shop", state: "STARTED" };
  const started = startDeployment(contextOf("STARTED"), app, { options: {} });
  const next = expect.stringMatching(/one more instance.*cup push shop$/) as string;
  await expect(started).rejects.toMatchObject({ message: MESSAGE, next });
});
