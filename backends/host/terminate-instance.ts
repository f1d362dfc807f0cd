// Ends everything that belongs to a started program: politely, then by force, then what hid from both.
import { setTimeout as delay } from "node:timers/promises";
import {
  findByEnvironment,
  listMembers,
  type ProcessRow,
  readProcesses,
  signalInstance,
  trySignal,
} from "./process-table.ts";

/** SIGTERM, `graceMs` for all of its processes, then SIGKILL. Says whether force was needed. */
export async function terminateInstance(
  leader: GroupLeader,
  tmp: string,
  graceMs: number,
): Promise<{ forced: boolean }> {
  let members = await findMembers(leader);
  if (members.length > 0) signalInstance(leader.pid, members, "SIGTERM");
  const deadline = Date.now() + graceMs;
  for (let pause = 10; members.length > 0 && Date.now() < deadline; pause = Math.min(pause * 2, 200)) {
    await delay(pause);
    members = await findMembers(leader);
  }
  const forced = members.length > 0;
  await killInstance(leader, tmp);
  return { forced };
}

/** SIGKILL to its group, session and descendants, and to whatever carries its TMPDIR. Returns when none is left, after 5 s at the latest. */
export async function killInstance(leader: GroupLeader | undefined, tmp: string): Promise<void> {
  const deadline = Date.now() + 5000;
  for (;;) {
    const members = leader ? await findMembers(leader) : [];
    if (leader && members.length > 0) signalInstance(leader.pid, members, "SIGKILL");
    const escaped = await findByEnvironment(`TMPDIR=${tmp}`);
    for (const pid of escaped) trySignal(pid, "SIGKILL");
    if ((members.length === 0 && escaped.length === 0) || Date.now() > deadline) return;
    await delay(20);
  }
}

/** The process that was started; it may be gone. */
export interface GroupLeader {
  pid: number;
  identity: string;
}

/** Nobody, when another process has that pid by now: a pid is not given again while a group of that number lives. */
async function findMembers(leader: GroupLeader): Promise<ProcessRow[]> {
  const rows = await readProcesses();
  const now = rows.find((row) => row.pid === leader.pid);
  return now && now.identity !== leader.identity ? [] : listMembers(rows, leader.pid);
}
