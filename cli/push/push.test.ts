// A push against an API of the test's own: what it asks when, and what it says when it fails.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ApiClient } from "../api/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { silentProgress } from "../output.ts";
import { dev } from "./dev.ts";
import { push } from "./push.ts";

const app = { guid: "app-1", name: "shop" };

function makeFolder(content = "x".repeat(200_000)): string {
  const folder = mkdtempSync(join(tmpdir(), "cup-push-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "large.js"), content);
  return folder;
}

function contextOf(api: Partial<ApiClient>): Context {
  return {
    api: { waitForJob: () => Promise.resolve(), start: () => Promise.resolve({ job: "j" }), ...api },
    progress: silentProgress,
    target: { api: "https://api.example.com" },
    space: () => Promise.resolve({ guid: "s", name: "dev" }),
    app: () => Promise.resolve(app),
  } as unknown as Context;
}

test.each([
  ["cup push without an app", push, { manifest: false as const }, "cup push APP --path x"],
  ["cup dev without an app", dev, { manifest: false as const }, "cup dev APP --path x"],
])("%s: the next step keeps --path", async (_, command, options, next) => {
  await expect(command(contextOf({}), undefined, { ...options, path: "x" })).rejects.toMatchObject({ next });
});

test("a first push of cup dev that is refused: the next step keeps --path", async () => {
  const path = makeFolder();
  const api = { start: () => Promise.reject(new Failure("no")), request: () => Promise.resolve({ resources: [] }) };
  await expect(dev(contextOf(api as never), "shop", { manifest: false, path })).rejects.toMatchObject({
    next: `correct the manifest or the option, then: cup dev shop --path ${path}`,
  });
});

test("who lacks the role is not told to correct the manifest", async () => {
  const refusal = { method: "POST", path: "/v3/spaces/s/actions/apply_manifest", code: 10_003 };
  const api = { start: () => Promise.reject(new Failure("no", { refusal })), request: () => Promise.resolve({}) };
  const pushed = push(contextOf(api as never), "shop", { manifest: false, path: makeFolder("x") });
  await expect(pushed).rejects.toMatchObject({ refusal, next: undefined });
});

test("a refused manifest is told while the packing still goes on, which then ends", async () => {
  const packing = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<object>();
  const request = (): Promise<object> => {
    packing.resolve();
    return answer.promise;
  };
  const start = async (): Promise<never> => {
    await packing.promise;
    throw new Failure("quota exceeded");
  };
  const pushed = push(contextOf({ request, start } as never), "shop", { manifest: false, path: makeFolder() });
  await expect(pushed).rejects.toThrow("quota exceeded");
  answer.resolve({ resources: [] });
});

test("which lines are of earlier builds is asked once the package is uploaded", async () => {
  const asked: string[] = [];
  const answers: Record<string, object> = {
    "POST /v3/resource_matches": { resources: [] },
    "POST /v3/packages": { guid: "p" },
    "POST /v3/packages/p/upload": { state: "READY" },
    "GET /api/v1/read/app-1": { envelopes: { batch: [] } },
  };
  const request = (method: string, to: string): Promise<object> => {
    asked.push(`${method} ${to}`);
    const answer = answers[`${method} ${to}`];
    return answer ? Promise.resolve(answer) : Promise.reject(new Failure("no build today"));
  };
  const pushed = push(contextOf({ request } as never), "shop", { manifest: false, path: makeFolder() });
  await expect(pushed).rejects.toThrow("no build today");
  expect(asked).toContain("POST /v3/resource_matches");
  expect(asked.slice(-3)).toEqual(["POST /v3/packages/p/upload", "GET /api/v1/read/app-1", "POST /v3/builds"]);
});

test("a small app is sent without a question about its files", async () => {
  const path = makeFolder("x".repeat(9000));
  const asked: string[] = [];
  const request = (method: string, to: string): Promise<object> => {
    asked.push(`${method} ${to}`);
    return to === "/v3/packages" ? Promise.resolve({ guid: "p" }) : Promise.reject(new Failure("no upload today"));
  };
  const pushed = push(contextOf({ request } as never), "shop", { manifest: false, path });
  await expect(pushed).rejects.toThrow("no upload today");
  expect(asked).toEqual(["POST /v3/packages", "POST /v3/packages/p/upload"]);
});
