// What an earlier run of the platform left on this machine: handed to the LRPs that still want it, ended otherwise.
import { instanceFiles, type InstanceRecord, readRecords, removeInstanceFiles } from "./instance-record.ts";
import { terminateInstance, killInstance } from "../../host/terminate-instance.ts";

export interface LeftoverInstances {
  /** Gives an instance to its new holder, once. */
  adopt(uid: string, index: number): InstanceRecord | undefined;
  /** Whether instances of this LRP are left that nobody has adopted. */
  has(uid: string): boolean;
  /** Ends the instances of LRPs for which `wanted` is false. Call it only when all LRPs are known. */
  terminateUnwanted(wanted: (uid: string) => boolean): Promise<void>;
  /** Ends instances of an LRP that nobody took: its indexes were scaled away. */
  terminateUnadopted(uid: string): Promise<void>;
  /** Host ports that the instances hold. */
  ports(): number[];
}

/** Reads the records and clears away directories in which nothing was started, with whatever was. */
export async function readLeftoverInstances(instancesDir: string, graceMs: number): Promise<LeftoverInstances> {
  const { records, broken } = await readRecords(instancesDir);
  const remaining = new Map(records.filter((record) => record.process).map((record) => [record.guid, record]));
  const unstarted = [...broken, ...records.filter((record) => !record.process).map((record) => record.guid)];
  await Promise.all(unstarted.map((guid) => removeUnstarted(instancesDir, guid)));

  const terminate = async (unwanted: InstanceRecord[]): Promise<void> => {
    for (const record of unwanted) remaining.delete(record.guid);
    await Promise.all(
      unwanted.map(async (record) => {
        if (record.process)
          await terminateInstance(record.process, instanceFiles(instancesDir, record.guid).tmp, graceMs);
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
    ports: () => [...remaining.values()].flatMap((record) => record.ports.map((port) => port.hostPort)),
  };
}

/** No process is on record, but one may have been started in the last moment: it carries the directory in its TMPDIR. */
async function removeUnstarted(instancesDir: string, guid: string): Promise<void> {
  await killInstance(undefined, instanceFiles(instancesDir, guid).tmp);
  await removeInstanceFiles(instancesDir, guid);
}
