// Ends everything that belongs to a started program: by SIGTERM, by SIGKILL, then what escaped from both.
import { setTimeout as delay } from "node:timers/promises";
import { killCgroup } from "./cgroup.ts";
import {
  findByEnvironment,
  listMembers,
  type ProcessRow,
  readProcesses,
  signalInstance,
  trySignal,
} from "./process-table.ts";

/** The process that was started; it may be gone. */
export interface GroupLeader {
  pid: number;
  identity: string;
}

/** How the processes of a started program are found. */
export interface ProcessTree {
  /** Undefined when it is not known whether a process was started. */
  leader: GroupLeader | undefined;
  /** Its TMPDIR, which no other program has: finds daemons by their environment (Linux). */
  tmp: string;
  /** Its cgroup, where there is one: finds daemons without an environment. */
  cgroup?: string | undefined;
}

/** SIGTERM, `graceMs` for all of its processes to end, then SIGKILL. `forced` tells whether SIGKILL was needed. */
export async function terminateInstance(
  tree: ProcessTree & { leader: GroupLeader },
  graceMs: number,
): Promise<{ forced: boolean }> {
  const { leader } = tree;
  let members = await findMembers(leader);
  if (members.length > 0) signalInstance(leader.pid, members, "SIGTERM");
  const deadline = Date.now() + graceMs;
  for (let pause = 10; members.length > 0 && Date.now() < deadline; pause = Math.min(pause * 2, 200)) {
    await delay(pause);
    members = await findMembers(leader);
  }
  const forced = members.length > 0;
  await killInstance(tree);
  return { forced };
}

/** SIGKILL to its group, session and descendants, to whatever has its TMPDIR, and to its cgroup. Returns when none is left, or after 5 s. */
export async function killInstance({ leader, tmp, cgroup }: ProcessTree): Promise<void> {
  await killProgram(leader, `TMPDIR=${tmp}`);
  if (cgroup !== undefined) await killCgroup(cgroup);
}

/** SIGKILL to its group, session and descendants, and to whatever has this entry in its environment. Returns when none is left, or after 5 s. */
export async function killProgram(leader: GroupLeader | undefined, environmentEntry: string): Promise<void> {
  const deadline = Date.now() + 5000;
  for (;;) {
    const members = leader ? await findMembers(leader) : [];
    if (leader && members.length > 0) signalInstance(leader.pid, members, "SIGKILL");
    const escaped = await findByEnvironment(environmentEntry);
    for (const pid of escaped) trySignal(pid, "SIGKILL");
    if ((members.length === 0 && escaped.length === 0) || Date.now() > deadline) break;
    await delay(20);
  }
}

/** Empty when another process has that pid by now: a pid is not given again while a group of that number lives. */
async function findMembers(leader: GroupLeader): Promise<ProcessRow[]> {
  const rows = await readProcesses();
  const now = rows.find((row) => row.pid === leader.pid);
  return now && now.identity !== leader.identity ? [] : listMembers(rows, leader.pid);
}
