// Log lines of failed reconciles.
import type { Logger } from "pino";
import { expect, test } from "vitest";
import { KubeError } from "../client/errors.ts";
import { createFaultLog } from "./fault-log.ts";

function logged(...errors: unknown[]): [level: string, fields: object][] {
  const lines: [string, object][] = [];
  const line = (level: string) => (fields: object) => lines.push([level, fields]);
  const report = createFaultLog({ warn: line("warn"), debug: line("debug") } as unknown as Logger);
  for (const error of errors) report("space/app", error);
  return lines;
}
const refused = (message: string): KubeError =>
  new KubeError({ status: "Failure", code: 422, reason: "Invalid", message });

test("a refusal is logged without a stack, and again when it changes", () =>
  expect(logged(refused("no"), refused("no"), new AggregateError([refused("no"), refused("never")]))).toEqual([
    ["warn", { key: "space/app", refusal: "no" }],
    ["debug", { key: "space/app", refusal: "no" }],
    ["warn", { key: "space/app", refusal: "no; never" }],
  ]));

test("a fault is logged with its stack each time", () => {
  const fault = new TypeError("x is not a function");
  const mixed = new AggregateError([fault, refused("no")]);
  expect(logged(fault, fault, mixed)).toEqual([
    ["warn", { key: "space/app", err: fault }],
    ["warn", { key: "space/app", err: fault }],
    ["warn", { key: "space/app", err: mixed }],
  ]);
});
