// What `cup` remembers between two calls: the API, the kubeconfig user, the org and the space. No credential is kept.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { z } from "zod";
import { Failure } from "../failure.ts";

const namedResource = z.object({ guid: z.string(), name: z.string() });
const config = z.object({
  api: z.string().optional(),
  /** Path of the kubeconfig; KUBECONFIG or ~/.kube/config when unset. */
  kubeconfig: z.string().optional(),
  /** Context of the kubeconfig that names the user. */
  user: z.string().optional(),
  org: namedResource.optional(),
  space: namedResource.optional(),
});
export type Config = z.output<typeof config>;

/** CUP_HOME, else a folder of CUPOLA_HOME, so that each Cupola of a machine has a target of its own, else ~/.cup. */
function path(): string {
  const { CUP_HOME, CUPOLA_HOME } = process.env;
  const folder = CUP_HOME ?? (CUPOLA_HOME === undefined ? join(homedir(), ".cup") : join(CUPOLA_HOME, "cup"));
  return join(folder, "config.json");
}

/** A missing file is an empty target. @throws Failure when it is damaged. */
export function readConfig(): Config {
  let text: string;
  try {
    text = readFileSync(path(), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  try {
    return config.parse(JSON.parse(text));
  } catch (cause) {
    throw new Failure(`${path()} is damaged`, { next: "remove it, then: cup login", cause });
  }
}

export function writeConfig(value: Config): void {
  const file = path();
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.${process.pid}`, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.${process.pid}`, file);
}
