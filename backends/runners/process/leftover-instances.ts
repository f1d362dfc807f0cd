// What an earlier run of the platform left on this machine: handed to the LRPs that still want it, ended otherwise.
import { instanceFiles, type InstanceRecord, readRecords, removeInstanceFiles } from "./instance-record.ts";
import { endInstance, killInstance } from "../../host/terminate-instance.ts";

export interface Inventory {
  /** Gives an instance to its new holder, once. */
  take(uid: string, index: number): InstanceRecord | undefined;
  /** Ends the instances of LRPs for which `wanted` is false. Call it only when all LRPs are known. */
  endUnwanted(wanted: (uid: string) => boolean): Promise<void>;
  /** Ends instances of an LRP that nobody took: its indexes were scaled away. */
  endRest(uid: string): Promise<void>;
  /** Host ports that the instances hold. */
  ports(): number[];
}

/** Reads the records and clears away directories in which nothing was started, with whatever was. */
export async function takeInventory(instancesDir: string, graceMs: number): Promise<Inventory> {
  const { records, broken } = await readRecords(instancesDir);
  const left = new Map(records.filter((record) => record.process).map((record) => [record.guid, record]));
  const unstarted = [...broken, ...records.filter((record) => !record.process).map((record) => record.guid)];
  await Promise.all(unstarted.map((guid) => clear(instancesDir, guid)));

  const end = async (unwanted: InstanceRecord[]): Promise<void> => {
    for (const record of unwanted) left.delete(record.guid);
    await Promise.all(
      unwanted.map(async (record) => {
        if (record.process) await endInstance(record.process, instanceFiles(instancesDir, record.guid).tmp, graceMs);
        await removeInstanceFiles(instancesDir, record.guid);
      }),
    );
  };
  return {
    take(uid, index) {
      const found = [...left.values()].find((record) => record.lrp.uid === uid && record.index === index);
      if (found) left.delete(found.guid);
      return found;
    },
    endUnwanted: (wanted) => end([...left.values()].filter((record) => !wanted(record.lrp.uid))),
    endRest: (uid) => end([...left.values()].filter((record) => record.lrp.uid === uid)),
    ports: () => [...left.values()].flatMap((record) => record.ports.map((port) => port.hostPort)),
  };
}

/** No process is on record, but one may have been started in the last moment: it carries the directory in its TMPDIR. */
async function clear(instancesDir: string, guid: string): Promise<void> {
  await killInstance(undefined, instanceFiles(instancesDir, guid).tmp);
  await removeInstanceFiles(instancesDir, guid);
}
