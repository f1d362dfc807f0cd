// Homes of this machine's Cupolas beside the usual one, so that a command which finds none can say which there are.
// Loads no library: every command may need it.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

const MAX_HOMES = 20;

/** The note belongs to the person, not to a home. */
function noteFile(): string {
  return join(process.env["CUP_HOME"] ?? join(homedir(), ".cup"), "homes.json");
}

/** Notes that a Cupola runs in this home. A note that cannot be written is no error. */
export function noteHome(dir: string): void {
  try {
    const file = noteFile();
    const homes = [dir, ...readNotes().filter((one) => one !== dir)].filter((one) => one === dir || runsIn(one));
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.${process.pid}`, `${JSON.stringify(homes.slice(0, MAX_HOMES))}\n`, { mode: 0o600 });
    renameSync(`${file}.${process.pid}`, file);
  } catch {
    return; // only a hint is lost
  }
}

/** Those in which a Cupola runs now, the newest first. */
export function findOtherHomes(): string[] {
  return readNotes().filter(runsIn);
}

function readNotes(): string[] {
  try {
    const homes: unknown = JSON.parse(readFileSync(noteFile(), "utf8"));
    return Array.isArray(homes) ? homes.filter((one) => typeof one === "string") : [];
  } catch {
    return []; // none noted yet
  }
}

function runsIn(home: string): boolean {
  try {
    const { pid } = JSON.parse(readFileSync(join(home, "running.json"), "utf8")) as { pid?: unknown };
    return typeof pid === "number" && process.kill(pid, 0);
  } catch {
    return false; // stopped, or moved away
  }
}
