// Lines of the log as `kubectl logs` shows them.
import { closeSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { expect, test, vi } from "vitest";
import { createLog } from "./create-log.ts";

test("a line has its level as a word, an ISO time, and its message before a stack", async () => {
  const path = join(tmpdir(), `log-${randomUUID()}`);
  const fd = openSync(path, "a", 0o600);
  const log = createLog(fd);
  log.warn({ err: new Error("refused"), code: 7 }, "cannot write");
  log.info("serves %s", "requests");
  log.error(new Error("alone"));
  log.child({ controller: "app" }).warn({ key: "a" }, "retried");
  const read = () => readFileSync(path, "utf8").split("\n").filter(Boolean);
  await vi.waitFor(() => expect(read()).toHaveLength(4));
  closeSync(fd);
  const [first = "", ...others] = read();
  rmSync(path);
  expect(first).toMatch(
    /^\{"level":"warn","time":"\d{4}-\d\d-\d\dT[\d:.]+Z","msg":"cannot write","err":\{.*"stack":.*\},"code":7\}$/,
  );
  expect(others.map((line) => JSON.parse(line) as object)).toMatchObject([
    { level: "info", msg: "serves requests" },
    { level: "error", msg: "alone", err: { message: "alone" } },
    { level: "warn", controller: "app", key: "a", msg: "retried" },
  ]);
});

test("fields of the process are on each line, those of its parts as well", async () => {
  const path = join(tmpdir(), `log-${randomUUID()}`);
  const fd = openSync(path, "a", 0o600);
  createLog(fd, { version: "1.2.3" }).child({ replica: "api-1" }).info("serves");
  await vi.waitFor(() => expect(readFileSync(path, "utf8")).toMatch(/\n$/));
  closeSync(fd);
  const line = JSON.parse(readFileSync(path, "utf8")) as object;
  rmSync(path);
  expect(line).toEqual({ level: "info", time: expect.any(String), version: "1.2.3", replica: "api-1", msg: "serves" });
});
