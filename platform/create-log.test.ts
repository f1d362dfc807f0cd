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
