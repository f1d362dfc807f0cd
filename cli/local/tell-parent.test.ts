// A platform in the background outlives the command that started it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";

test.each([
  ["that listens is told", "", ["ready"]],
  ["that has gone is not told, and nothing fails", "process.disconnect();", []],
])("a parent %s", async (_what, before, expected) => {
  const url = pathToFileURL(join(import.meta.dirname, "tell-parent.ts")).href;
  const script = `${before} const { tellParent } = await import("${url}"); tellParent("ready");`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const told: unknown[] = [];
  child.on("message", (message) => told.push(message));
  const [code] = (await once(child, "close")) as [number];
  expect([code, told]).toEqual([0, expected]);
});
