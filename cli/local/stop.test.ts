// `cup local stop` after a kill -9 of the platform.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findProcess } from "../../backends/host/process-table.ts";
import {
  createInstanceFiles,
  instanceFiles,
  instancesFolder,
  writeRecord,
} from "../../backends/runners/process/instance-record.ts";
import { homeAt } from "../../local/home.ts";
import { silentProgress } from "../output.ts";
import { localStop } from "./stop.ts";

test("ends the apps that a killed platform left running", async () => {
  const home = homeAt(mkdtempSync(join(tmpdir(), "cupola-stop-")));
  const instancesDir = instancesFolder(join(home.data, "instances"));
  const files = instanceFiles(instancesDir, "guid-1");
  await createInstanceFiles(files);
  const app = spawn("/bin/sleep", ["1000"], { detached: true, stdio: "ignore", env: { TMPDIR: files.tmp } });
  app.unref();
  const pid = app.pid ?? 0;
  try {
    await writeRecord(instancesDir, {
      lrp: { namespace: "n", name: "l", uid: "u" },
      index: 0,
      guid: "guid-1",
      process: { pid, identity: (await findProcess(pid))?.identity ?? "" },
      ports: [],
      root: "/r",
      state: "Running",
      since: "",
      startedAt: "",
      crashCount: 0,
    });
    expect(await localStop(silentProgress, { home: home.dir })).toEqual({
      json: { running: false, endedInstances: 1 },
      text: ["Cupola does not run. Ended 1 app instance that it had left running."],
    });
    expect(await findProcess(pid)).toBeUndefined();
    expect(existsSync(files.dir)).toBe(false);
    expect((await localStop(silentProgress, { home: home.dir })).text).toEqual(["Cupola does not run."]);
  } finally {
    app.kill("SIGKILL");
    rmSync(home.dir, { recursive: true, force: true });
  }
});

test("does not create a missing home", async () => {
  const dir = join(tmpdir(), `cupola-none-${process.pid}`);
  expect((await localStop(silentProgress, { home: dir })).text).toEqual(["Cupola does not run."]);
  expect(existsSync(dir)).toBe(false);
});
