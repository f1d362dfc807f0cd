// Instances that survive a kill -9 of the platform: wanted ones are adopted, the others end.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { readLeftoverInstances } from "./leftover-instances.ts";
import { findByEnvironment, findProcess } from "../../host/process-table.ts";
import { instanceFiles, type InstanceRecord, removeInstanceFiles, writeRecord } from "./instance-record.ts";

const instancesDir = mkdtempSync(join(tmpdir(), "cupola-leftovers-"));
const pids: number[] = [];
afterEach(() => {
  for (const pid of pids.splice(0)) if (pid > 0) process.kill(-pid, "SIGKILL");
});

/** An instance as an earlier run of the platform started it. */
async function leftBehind(
  guid: string,
  uid: string,
  more: Partial<InstanceRecord> = {},
  tmp = instanceFiles(instancesDir, guid).tmp,
): Promise<number> {
  for (const dir of [instanceFiles(instancesDir, guid).dir, tmp]) mkdirSync(dir, { recursive: true });
  const child = spawn("/bin/sleep", ["1000"], { detached: true, stdio: "ignore", env: { TMPDIR: tmp } });
  child.unref();
  const pid = child.pid ?? 0;
  const identity = (await findProcess(pid))?.identity ?? "";
  await writeRecord(instancesDir, {
    lrp: { namespace: "n", name: "l", uid },
    index: 0,
    guid,
    process: { pid, identity },
    ports: [{ port: 8080, hostPort: 20_000 }],
    root: "/r",
    state: "Running",
    since: "",
    startedAt: "",
    crashCount: 0,
    ...more,
  });
  return pid;
}

describe("leftover instances", () => {
  it("are adopted once when they are wanted, and end otherwise", async () => {
    const wanted = await leftBehind("a", "lrp-1");
    const scaledAway = await leftBehind("b", "lrp-1", { index: 1 });
    const deleted = await leftBehind("c", "lrp-2");
    const unrecorded = await leftBehind("d", "lrp-1", { process: undefined });
    pids.push(wanted);
    const leftovers = await readLeftoverInstances(instancesDir, 1000);
    expect(await findProcess(unrecorded)).toBeUndefined();
    expect(leftovers.adopt("lrp-1", 0)?.guid).toBe("a");
    expect(leftovers.adopt("lrp-1", 0)).toBeUndefined();
    await leftovers.terminateUnwanted((uid) => uid === "lrp-1");
    expect(await findProcess(deleted)).toBeUndefined();
    expect(await findProcess(scaledAway)).toBeDefined();
    await leftovers.terminateUnadopted("lrp-1");
    expect(await findProcess(scaledAway)).toBeUndefined();
    expect(await findProcess(wanted)).toBeDefined();
    expect(readdirSync(instancesDir)).toEqual(["a"]);
  });

  it("leave an unrelated process with a reused pid alone", async () => {
    const stranger = await leftBehind("e", "lrp-3", {}, mkdtempSync(join(tmpdir(), "cupola-stranger-")));
    pids.push(stranger);
    await leftBehind("f", "lrp-3", { process: { pid: stranger, identity: "of an earlier boot" } });
    await removeInstanceFiles(instancesDir, "e");
    await (await readLeftoverInstances(instancesDir, 1000)).terminateUnwanted(() => false);
    expect(await findProcess(stranger)).toBeDefined();
    expect(await findByEnvironment(`TMPDIR=${instanceFiles(instancesDir, "f").tmp}`)).toEqual([]);
  });
});
