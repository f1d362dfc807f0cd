// Instances that an earlier run of the platform left on this machine. LRPs that still want them adopt them; the others end.
import { setTimeout as delay } from "node:timers/promises";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { Store } from "../../../kube/cache/reader.ts";
import {
  type InstanceRecord,
  instancesFolder,
  processTree,
  readRecords,
  removeInstanceFiles,
  tasksFolder,
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
  /** GUIDs of those that were ended because the platform died before it knew their process: their program may have begun. */
  unrecorded: ReadonlySet<string>;
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
    unrecorded: new Set(unstarted.map(({ guid }) => guid)),
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
  const counts = [instancesFolder(home), tasksFolder(home)].map(async (folder) => {
    const leftovers = await readLeftoverInstances(folder, graceMs);
    const count = await leftovers.countRunning();
    await leftovers.terminateUnwanted(() => false);
    return count;
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

/** Interval between checks whether unreadable namespaces are readable again. */
const RECHECK_MS = 60_000;

/** Ends what no object of the store wants, once every object is known. While a namespace cannot be read, nothing ends. */
export async function terminateUnwantedOnceKnown<T extends KubeObject>(
  leftovers: Pick<LeftoverInstances, "terminateUnwanted">,
  store: Store<T>,
  { isOurs, isClosed }: { isOurs: (object: T) => boolean; isClosed: () => boolean },
): Promise<void> {
  while (!(await store.waitSynced(RECHECK_MS)) || store.parkedNamespaces.length > 0) {
    if (isClosed()) return;
    if (store.parkedNamespaces.length > 0) await delay(RECHECK_MS, undefined, { ref: false });
  }
  if (isClosed()) return;
  const uids = new Set(
    store
      .list()
      .filter(isOurs)
      .map((object) => object.metadata.uid),
  );
  await leftovers.terminateUnwanted((uid) => uids.has(uid));
}

/** No process is recorded, but one may have started just before the platform died: it has the directory in its TMPDIR. */
async function removeUnstarted(instancesDir: string, record: Pick<InstanceRecord, "guid" | "cgroup">): Promise<void> {
  await killInstance(processTree(instancesDir, record));
  await removeInstanceFiles(instancesDir, record.guid);
}
