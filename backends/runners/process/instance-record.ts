// The record of an instance on disk, by which the next run of the platform finds it. It holds no variable's value.
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { removeFolder } from "../../host/remove-folder.ts";
import type { ProcessTree } from "../../host/terminate-instance.ts";

const record = z.object({
  lrp: z.object({ namespace: z.string(), name: z.string(), uid: z.string() }),
  index: z.int(),
  guid: z.string(),
  /** Absent until the process has started. If the platform dies in between, the process is found by its environment. */
  process: z.object({ pid: z.int(), identity: z.string() }).optional(),
  /** The cgroup that holds its processes, where there are cgroups. */
  cgroup: z.string().optional(),
  ports: z.array(z.object({ port: z.int(), hostPort: z.int() })),
  root: z.string(),
  state: z.enum(["Starting", "Running"]),
  since: z.string(),
  startedAt: z.string(),
  crashCount: z.int(),
  restart: z.string().optional(),
});
export type InstanceRecord = z.output<typeof record>;

/** Paths of one instance: its directory, with record, output files, TMPDIR, files of bound services, and what it changes in its droplet. */
export interface InstanceFiles {
  dir: string;
  tmp: string;
  services: string;
  changes: string;
  stdout: string;
  stderr: string;
}

/** The folder of all instances in a runner's home. */
export function instancesFolder(home: string): string {
  return join(home, "instances");
}

/** The folder of all tasks in a runner's home. */
export function tasksFolder(home: string): string {
  return join(home, "tasks");
}

export function instanceFiles(instancesDir: string, guid: string): InstanceFiles {
  const dir = join(instancesDir, guid);
  return {
    dir,
    tmp: join(dir, "tmp"),
    services: join(dir, "services"),
    changes: join(dir, "changes"),
    stdout: join(dir, "stdout.log"),
    stderr: join(dir, "stderr.log"),
  };
}

/** The means to find the processes of an instance. */
export function processTree(
  instancesDir: string,
  { guid, process: leader, cgroup }: Pick<InstanceRecord, "guid" | "process" | "cgroup">,
): ProcessTree {
  return { leader, tmp: instanceFiles(instancesDir, guid).tmp, cgroup };
}

/** Makes the directory and empty output files. */
export async function createInstanceFiles(files: InstanceFiles): Promise<void> {
  await mkdir(files.tmp, { recursive: true, mode: 0o700 });
  await Promise.all([writeFile(files.stdout, "", { mode: 0o600 }), writeFile(files.stderr, "", { mode: 0o600 })]);
}

/** Writes the record atomically: a reader sees the old or the new one. */
export async function writeRecord(instancesDir: string, value: InstanceRecord): Promise<void> {
  const path = join(instancesDir, value.guid, "instance.json");
  await writeFile(`${path}.new`, JSON.stringify(value), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** The records of an earlier run, and the directories without a readable one. */
export async function readRecords(instancesDir: string): Promise<{ records: InstanceRecord[]; broken: string[] }> {
  const guids = await readdir(instancesDir).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  });
  const found = await Promise.all(guids.map(async (guid) => ({ guid, record: await readRecord(instancesDir, guid) })));
  return {
    records: found.flatMap((each) => each.record ?? []),
    broken: found.filter((each) => !each.record).map((each) => each.guid),
  };
}

async function readRecord(instancesDir: string, guid: string): Promise<InstanceRecord | undefined> {
  try {
    const parsed = record.safeParse(JSON.parse(await readFile(join(instancesDir, guid, "instance.json"), "utf8")));
    return parsed.data?.guid === guid ? parsed.data : undefined;
  } catch (_error) {
    // Absent or incomplete: the platform died before the process started. The caller cleans up by the directory's name.
    return undefined;
  }
}

/** Removes the directory. */
export async function removeInstanceFiles(instancesDir: string, guid: string): Promise<void> {
  await removeFolder(join(instancesDir, guid));
}
