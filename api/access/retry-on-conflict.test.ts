// A write that loses against another is repeated; other failures are not.
import { expect, onTestFinished, test, vi } from "vitest";
import { KubeError } from "../../kube/client/errors.ts";
import { retryOnConflict } from "./retry-on-conflict.ts";

const conflict = new KubeError({ code: 409, reason: "Conflict" });

test("a write is repeated until it no longer conflicts", async () => {
  const seen: number[] = [];
  const write = (conflicts: number): Promise<string> => {
    seen.push(conflicts);
    return conflicts < 3 ? Promise.reject(conflict) : Promise.resolve("written");
  };
  expect(await retryOnConflict(write, new AbortController().signal)).toBe("written");
  expect(seen).toEqual([0, 1, 2, 3]);
});

test("another failure is thrown at once", async () => {
  const forbidden = new KubeError({ code: 403, reason: "Forbidden" });
  await expect(retryOnConflict(() => Promise.reject(forbidden), new AbortController().signal)).rejects.toBe(forbidden);
});

test("a request that has ended is not repeated", async () => {
  const ended = AbortSignal.abort(new Error("the client left"));
  await expect(retryOnConflict(() => Promise.reject(conflict), ended)).rejects.toThrow();
});

test("writers take turns for up to 20 s, and then the conflict is the answer", async () => {
  const clock = vi.spyOn(performance, "now");
  onTestFinished(() => clock.mockRestore());
  let now = 0;
  clock.mockImplementation(() => now);
  const seen: number[] = [];
  const write = (conflicts: number): Promise<never> => {
    seen.push(conflicts);
    now += 6_000;
    return Promise.reject(conflict);
  };
  await expect(retryOnConflict(write, new AbortController().signal)).rejects.toBe(conflict);
  expect(seen).toEqual([0, 1, 2, 3]);
});
