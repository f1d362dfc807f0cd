// The usage of real processes is in the expected range.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { createUsageMeter, type Usage } from "./usage-meter.ts";
import { parseStat } from "../../host/process-table.ts";

const soon = { timeout: 10_000, interval: 20 };
let child: ChildProcess | undefined;
const meter = createUsageMeter({ intervalMs: 100, diskEvery: 1 });
afterEach(() => {
  meter.close();
  if (child?.pid) process.kill(-child.pid, "SIGKILL");
});

it("measures memory and CPU of a whole group, and the disk below its folders", async () => {
  const dir = mkdtempSync(join(tmpdir(), "cupola-meter-"));
  mkdirSync(join(dir, "deep"));
  writeFileSync(join(dir, "deep", "file"), Buffer.alloc(1 << 20, 1));
  const script = `const a = Buffer.alloc(100 << 20, 1); const end = Date.now() + 8000; while (Date.now() < end) a[0]++`;
  child = spawn("/bin/sh", ["-c", `"$0" -e '${script}' & wait`, process.execPath], { detached: true, stdio: "ignore" });
  let usage: Usage | undefined;
  const stop = meter.add(child.pid ?? 0, [dir], (seen) => (usage = seen));
  await vi.waitFor(() => {
    expect(usage?.mem).toBeGreaterThan(100 << 20);
    expect(usage?.cpu).toBeGreaterThan(0.1);
    expect(usage?.cpu).toBeLessThan(3);
    expect(usage?.disk).toBe(1 << 20);
  }, soon);
  expect(usage?.mem).toBeLessThan(250 << 20);
  stop();
});

it("parses a command with spaces and parentheses as one field", () => {
  const fields = `S 10 20 30 ${Array.from({ length: 20 }, (_, i) => i + 100).join(" ")}`;
  expect(parseStat(7, `7 (a) b (c) ${fields}`, "boot")).toMatchObject({
    pid: 7,
    parent: 10,
    group: 20,
    session: 30,
    zombie: false,
    identity: "boot/115",
  });
});
