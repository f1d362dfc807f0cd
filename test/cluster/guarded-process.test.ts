// Promises of a kill to the next start of the same program.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startGuarded } from "./guarded-process.ts";

/** Takes much memory, which the kernel has to take back before the process is gone. */
const PROGRAM = `Buffer.alloc(400 * 1024 * 1024, 1); console.log("here I am:", process.pid); setInterval(() => {}, 1000)`;

let dir = "";
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "cupola-guarded-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

test("once a kill has resolved the process is gone", async () => {
  const logFile = join(dir, "log");
  const child = startGuarded([process.execPath, "-e", PROGRAM], { name: "big", logFile });
  const pid = Number(
    await vi.waitFor(() => /here I am: (\d+)/.exec(readFileSync(logFile, "utf8"))![1], {
      timeout: 20_000,
      interval: 20,
    }),
  );
  expect(child.running()).toBe(true);
  await child.kill();
  expect(child.running()).toBe(false);
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});
