// The lines of `cup app` and `cup space` about rules that these break.
import { expect, test } from "vitest";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { readViolations, toViolationLines, type PolicyViolation } from "./shown-violations.ts";

const message = "Size limit: at most 64 MB of memory (policy small)";
const violation: PolicyViolation = {
  constraint: "SizeLimit/small",
  action: "warn",
  kind: "Process",
  name: "shop.web",
  message,
};
const reading = (answer: () => Promise<unknown>): Promise<PolicyViolation[]> =>
  readViolations({ api: { request: answer } } as unknown as Context, "apps", "g");
const refusal = (code: number) => new Failure("no", { refusal: { method: "GET", path: "/v3/apps/g", code } });

test("a line for each violation, with what the constraint does", () => {
  const text = toViolationLines([violation, { ...violation, action: "deny" }, { ...violation, action: "dryrun" }]);
  expect(text.join("\n")).toMatch(/^warns +Process\/shop\.web +Size limit: .* \(policy small\)$/m);
  expect(text.join("\n")).toMatch(/^refuses +Process\/shop\.web/m);
  expect(text.join("\n")).toMatch(/^dryrun +Process\/shop\.web/m);
  expect(toViolationLines([])).toEqual([]);
});

test("a platform without the path tells none; another refusal is one", async () => {
  expect(await reading(() => Promise.resolve({ resources: [violation] }))).toEqual([violation]);
  expect(await reading(() => Promise.reject(refusal(10_000)))).toEqual([]);
  await expect(reading(() => Promise.reject(refusal(10_002)))).rejects.toThrow("no");
});
