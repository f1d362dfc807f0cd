// Gives each start of a program files of its own: an overlay over its droplet in a mount namespace, as the file system of a container.
// Optional: only on Linux, where this user may mount one. It isolates what programs write, not what they may read.
import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import type { LaunchSpec } from "./prepare-launch.ts";
import { removeFolder } from "./remove-folder.ts";

/** The folder that a program sees as its own, and the folder that gets what it changes there. */
export interface FilesPlace {
  /** Stays as it is; many programs share it. */
  root: string;
  /** Made here. It belongs to this start alone and is removed by the caller. */
  changes: string;
  /** Seen by the program as /etc/hosts, when it exists. */
  hosts?: string;
}

/** Returns the command that runs `launch.command` in `launch.cwd`, with the root's files as they are now and changes of its own. */
export type IsolateFiles = (launch: Pick<LaunchSpec, "command" | "cwd">, place: FilesPlace) => Promise<string[]>;

/** Programs of util-linux, by path, since an app chooses its own PATH. */
interface Tools {
  unshare: string;
  mount: string;
  /** Absent for root, who keeps the rights that root has. */
  setpriv?: string;
}

const probeTimeoutMs = 10_000;
/** Characters with a meaning in the options of an overlay. */
const unmountable = /[,:\\]/;
/** A library that the app preloads is not for mount. The working directory is entered again, since the old one is below the overlay. */
const mountScript = [
  'LD_PRELOAD= LD_LIBRARY_PATH= "$0" -n -t overlay overlay -o "$1" "$2" || exit 126',
  // A program runs also where names of other apps are not found.
  'if [ -f "$4" ]; then LD_PRELOAD= LD_LIBRARY_PATH= "$0" -n --bind "$4" /etc/hosts 2>/dev/null; fi',
  'cd "$3" || exit 126; shift 4; exec "$@"',
].join("\n");

/** Tries it out in `folder`; undefined where the system allows no overlay. @throws Error when nothing can be written there */
export async function findIsolation(folder: string): Promise<IsolateFiles | undefined> {
  if (process.platform !== "linux") return undefined;
  const isRoot = process.getuid?.() === 0;
  const [unshare, mount, setpriv] = await Promise.all(["unshare", "mount", "setpriv"].map(findTool));
  if (unshare === undefined || mount === undefined || (!isRoot && setpriv === undefined)) return undefined;
  const isolate = isolation({ unshare, mount, ...(!isRoot && setpriv !== undefined && { setpriv }) });
  return (await works(isolate, folder)) ? isolate : undefined;
}

function isolation(tools: Tools): IsolateFiles {
  return async ({ command, cwd }, { root, changes, hosts = "" }) => {
    if (unmountable.test(root + changes)) return command;
    const [upper, work] = [join(changes, "files"), join(changes, "work")];
    await Promise.all([upper, work].map((path) => mkdir(path, { recursive: true, mode: 0o755 })));
    // Nothing has to survive a crash of the machine: without `volatile` the end of a program waits for the disk.
    const options = `volatile,${tools.setpriv === undefined ? "redirect_dir=on" : "userxattr"},lowerdir=${root},upperdir=${upper},workdir=${work}`;
    const { enter, leave } = steps(tools);
    return [...enter, "/bin/sh", "-c", mountScript, tools.mount, options, root, cwd, hosts, ...leave, ...command];
  };
}

/** A user makes a user namespace to be allowed to mount, and gives the rights in it up before the program starts. */
function steps({ unshare, setpriv }: Tools): { enter: string[]; leave: string[] } {
  if (setpriv === undefined) return { enter: [unshare, "--mount"], leave: [] };
  return {
    enter: [unshare, "--user", "--map-current-user", "--keep-caps", "--mount"],
    leave: [setpriv, "--ambient-caps", "-all", "--inh-caps", "-all"],
  };
}

/** Changes a file of a root: the change must be seen inside, and not outside. */
async function works(isolate: IsolateFiles, folder: string): Promise<boolean> {
  const probe = await mkdtemp(join(folder, "probe-"));
  try {
    const root = join(probe, "root");
    await mkdir(root);
    await writeFile(join(root, "file"), "old");
    const launch = { command: ["/bin/sh", "-c", "echo new > file && cat file"], cwd: root };
    const seen = await outputOf(await isolate(launch, { root, changes: join(probe, "changes") }), root);
    return seen === "new\n" && (await readFile(join(root, "file"), "utf8")) === "old";
  } finally {
    await removeFolder(probe);
  }
}

/** Undefined when it fails: no namespaces for this user, no overlay on this file system, tools without these options. Usual in containers. */
async function outputOf([file = "", ...args]: string[], cwd: string): Promise<string | undefined> {
  return promisify(execFile)(file, args, { cwd, timeout: probeTimeoutMs, env: {} }).then(
    ({ stdout }) => stdout,
    () => undefined,
  );
}

/** The path of a program of the system; undefined where it is missing. */
export async function findTool(name: string): Promise<string | undefined> {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/bin", "/bin", "/usr/sbin", "/sbin"];
  for (const folder of folders.filter((each) => each.startsWith("/"))) {
    const path = join(folder, name);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}
