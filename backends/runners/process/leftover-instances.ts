// Instances that an earlier run of the platform left on this machine. LRPs that still want them adopt them; the others end.
import {
  type InstanceRecord,
  instancesFolder,
  processTree,
  readRecords,
  removeInstanceFiles,
} from "./instance-record.ts";
import { findProcess } from "../../host/process-table.ts";
import { defaultTimings } from "./runner-context.ts";
import { terminateInstance, killInstance } from "../../host/terminate-instance.ts";

export interface LeftoverInstances {
  /** The leftover instance of this index; each is returned only once. */
  adopt(uid: string, index: number): InstanceRecord | undefined;
  /** Whether this LRP has instances that are not adopted. */
  has(uid: string): boolean;
  /** Ends the instances of LRPs for which `wanted` is false. All LRPs must be known. */
  terminateUnwanted(wanted: (uid: string) => boolean): Promise<void>;
  /** Ends the instances of an LRP that were not adopted, since their indexes were scaled away. */
  terminateUnadopted(uid: string): Promise<void>;
  /** How many of those that are not adopted still run. */
  countRunning(): Promise<number>;
  /** Host ports of the instances. */
  ports(): number[];
}

/** Reads the records. Directories without a recorded process are removed, and processes that were started there are killed. */
export async function readLeftoverInstances(instancesDir: string, graceMs: number): Promise<LeftoverInstances> {
  const { records, broken } = await readRecords(instancesDir);
  const remaining = new Map(records.filter((record) => record.process).map((record) => [record.guid, record]));
  const unstarted = [...broken.map((guid) => ({ guid })), ...records.filter((record) => !record.process)];
  await Promise.all(unstarted.map((record) => removeUnstarted(instancesDir, record)));

  const terminate = async (unwanted: InstanceRecord[]): Promise<void> => {
    for (const record of unwanted) remaining.delete(record.guid);
    await Promise.all(
      unwanted.map(async (record) => {
        const { process: leader } = record;
        if (leader) await terminateInstance({ ...processTree(instancesDir, record), leader }, graceMs);
        await removeInstanceFiles(instancesDir, record.guid);
      }),
    );
  };
  return {
    adopt(uid, index) {
      const found = [...remaining.values()].find((record) => record.lrp.uid === uid && record.index === index);
      if (found) remaining.delete(found.guid);
      return found;
    },
    has: (uid) => [...remaining.values()].some((record) => record.lrp.uid === uid),
    terminateUnwanted: (wanted) => terminate([...remaining.values()].filter((record) => !wanted(record.lrp.uid))),
    terminateUnadopted: (uid) => terminate([...remaining.values()].filter((record) => record.lrp.uid === uid)),
    async countRunning() {
      const leaders = [...remaining.values()].flatMap((record) => record.process ?? []);
      const rows = await Promise.all(leaders.map(({ pid }) => findProcess(pid)));
      return rows.filter((row, i) => row !== undefined && row.identity === leaders[i]?.identity).length;
    },
    ports: () => [...remaining.values()].flatMap((record) => record.ports.map((port) => port.hostPort)),
  };
}

/** Ends every instance that a platform left in this runner's `home` when it was killed, and returns how many. Only while no platform runs there. */
export async function terminateLeftoverInstances(home: string, graceMs = defaultTimings.grace): Promise<number> {
  const leftovers = await readLeftoverInstances(instancesFolder(home), graceMs);
  const count = await leftovers.countRunning();
  await leftovers.terminateUnwanted(() => false);
  return count;
}

/** No process is recorded, but one may have started just before the platform died: it has the directory in its TMPDIR. */
async function removeUnstarted(instancesDir: string, record: Pick<InstanceRecord, "guid" | "cgroup">): Promise<void> {
  await killInstance(processTree(instancesDir, record));
  await removeInstanceFiles(instancesDir, record.guid);
}
