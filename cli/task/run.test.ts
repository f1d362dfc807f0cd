// `cup run` against an API that fails in part.
import { expect, test } from "vitest";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { runTask } from "./run.ts";

test("a log that cannot be read does not end it before the task", async () => {
  const steps: string[] = [];
  let looks = 0;
  const task = { guid: "t", name: "migrate", sequence_id: 1, created_at: "2026-11-22T12:00:00Z" };
  const context = {
    app: () => Promise.resolve({ guid: "a", name: "shop" }),
    progress: { step: (step: string) => void steps.push(step) },
    api: {
      request: (method: string, path: string) => {
        if (path.startsWith("/api/v1/read")) return Promise.reject(new Failure("the API answered 503"));
        if (method === "POST") return Promise.resolve({ ...task, state: "RUNNING" });
        return Promise.resolve({ ...task, state: (looks += 1) > 1 ? "SUCCEEDED" : "RUNNING" });
      },
    },
  } as unknown as Context;
  const { json } = await runTask(context, "shop", ["rake", "db:migrate"], {});
  expect(json).toMatchObject({ state: "SUCCEEDED" });
  expect(steps.at(-1)).toMatch(/output cannot be read/);
});

test("a command keeps its arguments, and a failed one its exit status", async () => {
  const bodies: object[] = [];
  const task = { guid: "t", name: "t", sequence_id: 1, created_at: "2026-11-22T12:00:00Z", state: "FAILED" };
  const request = (method: string, path: string, options?: { body: object }): Promise<object> => {
    if (method === "POST") bodies.push(options?.body ?? {});
    return Promise.resolve(
      path.startsWith("/api/v1/read")
        ? { envelopes: { batch: [] } }
        : { ...task, result: { failure_reason: "APP/TASK/t: Exited with status 4" } },
    );
  };
  const context = {
    app: () => Promise.resolve({ guid: "a", name: "shop" }),
    progress: { step: () => undefined },
    api: { request },
  } as unknown as Context;
  const failure = await runTask(context, "shop", ["sh", "-c", "exit 4"], {}).catch((error: unknown) => error);
  expect(bodies).toEqual([{ command: "sh -c 'exit 4'" }]);
  expect(failure).toMatchObject({ exitCode: 4, message: "task 1 failed: APP/TASK/t: Exited with status 4" });
});
