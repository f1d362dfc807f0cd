// Which toolchains builds find on this machine.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Finding } from "./finding.ts";

interface Toolchain {
  apps: string;
  command: readonly [program: string, ...args: string[]];
  get: string;
}

const TOOLCHAINS: readonly Toolchain[] = [
  { apps: "Node.js", command: ["npm", "--version"], get: "https://nodejs.org" },
  { apps: "Python", command: ["python3", "--version"], get: "https://www.python.org/downloads" },
  { apps: "Go", command: ["go", "version"], get: "https://go.dev/dl" },
  { apps: "Java", command: ["java", "-version"], get: "https://adoptium.net" },
  { apps: "Ruby", command: ["ruby", "--version"], get: "https://www.ruby-lang.org/en/downloads" },
  { apps: "PHP", command: ["php", "--version"], get: "https://www.php.net/downloads" },
  { apps: "git", command: ["git", "--version"], get: "https://git-scm.com/downloads" },
];
const DEADLINE_MS = 5_000;

/** A finding for each; a missing one is a note, since only apps of that kind need it. @param path PATH as builds see it */
export async function readToolchains(path: string): Promise<Finding[]> {
  return Promise.all(
    TOOLCHAINS.map(async ({ apps, command: [program, ...args], get }): Promise<Finding> => {
      const version = await readVersion(program, args, path);
      return version === undefined
        ? {
            about: apps,
            verdict: "note",
            text: `no ${program}: apps that need it are not built here; get it at ${get}`,
          }
        : { about: apps, verdict: "fine", text: `${program} ${version}` };
    }),
  );
}

async function readVersion(program: string, args: string[], path: string): Promise<string | undefined> {
  try {
    const env = { ...process.env, PATH: path };
    const { stdout, stderr } = await promisify(execFile)(program, args, { timeout: DEADLINE_MS, env });
    return /\d+(\.\d+)+/.exec(`${stdout}${stderr}`)?.[0] ?? "found";
  } catch {
    return undefined; // not there, or it does not run
  }
}
