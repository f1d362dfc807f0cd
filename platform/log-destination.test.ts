// A log that cannot be written: nothing throws, lines are counted, and it goes on by itself.
import { closeSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { openLogDestination } from "./log-destination.ts";

/** Every write to it fails with ENOSPC. */
const FULL_DEVICE = "/dev/full";
const hasFullDevice = process.platform === "linux";

const openFile = () => {
  const path = join(tmpdir(), `log-${randomUUID()}`);
  return { path, fd: openSync(path, "a", 0o600) };
};

test("lines arrive whole and in order", async () => {
  const { path, fd } = openFile();
  const log = pino({ base: undefined }, openLogDestination(fd));
  for (let i = 0; i < 100; i++) log.info({ i }, "line");
  const read = () =>
    readFileSync(path, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { i: number }).i);
  await vi.waitFor(() => expect(read()).toEqual(Array.from({ length: 100 }, (_, i) => i)));
  closeSync(fd);
});

test("lines beyond the bound are dropped, and the log reports their number", async () => {
  const { path, fd } = openFile();
  const destination = openLogDestination(fd, 100);
  for (let i = 0; i < 10; i++) destination.write(`${"x".repeat(59)}\n`);
  expect(destination.droppedLines).toBe(8);
  await vi.waitFor(() => expect(readFileSync(path, "utf8")).toContain('"droppedLines":8'));
  expect(destination.droppedLines).toBe(0);
  closeSync(fd);
});

test.skipIf(!hasFullDevice)("a full disk costs the lines only, also at the end of the process", async () => {
  const fd = openSync(FULL_DEVICE, "w");
  const destination = openLogDestination(fd);
  const log = pino({ base: undefined }, destination);
  for (let i = 0; i < 5; i++) log.info("line");
  await vi.waitFor(() => expect(destination.droppedLines).toBe(5));
  log.info("line");
  destination.flushSync();
  await vi.waitFor(() => expect(destination.droppedLines).toBe(6));
  closeSync(fd);
});
