// Ends everything that belongs to an instance: politely, then by force, then what hid from both.
import { setTimeout as delay } from "node:timers/promises";
import { findByEnvironment, membersOf, readProcesses, signalInstance, trySignal } from "./processes.ts";

/** SIGTERM, `graceMs` for all of its processes, then SIGKILL. Says whether force was needed. */
export async function endInstance(leader: number, tmp: string, graceMs: number): Promise<{ forced: boolean }> {
  let members = membersOf(await readProcesses(), leader);
  if (members.length > 0) signalInstance(leader, members, "SIGTERM");
  const deadline = Date.now() + graceMs;
  for (let pause = 10; members.length > 0 && Date.now() < deadline; pause = Math.min(pause * 2, 200)) {
    await delay(pause);
    members = membersOf(await readProcesses(), leader);
  }
  const forced = members.length > 0;
  await killInstance(leader, tmp);
  return { forced };
}

/** SIGKILL to its group, session and descendants, and to whatever carries its TMPDIR. Returns when none is left, after 5 s at the latest. */
export async function killInstance(leader: number | undefined, tmp: string): Promise<void> {
  const deadline = Date.now() + 5000;
  for (;;) {
    const members = leader === undefined ? [] : membersOf(await readProcesses(), leader);
    if (leader !== undefined && members.length > 0) signalInstance(leader, members, "SIGKILL");
    const hidden = await findByEnvironment(`TMPDIR=${tmp}`);
    for (const pid of hidden) trySignal(pid, "SIGKILL");
    if ((members.length === 0 && hidden.length === 0) || Date.now() > deadline) return;
    await delay(20);
  }
}
