// A root folder that holds the machine's Node, its npm and a shell, and nothing else: no git, no compilers, no checkout. Linux, as root.
import { cpSync, existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { runCommand } from "../../../scripts/run-command.ts";

/** Programs of the root besides Node: a shell, and the program of every `#!/usr/bin/env`. */
const PROGRAMS = ["sh", "env"];
/** Node 26 loads it; minimal images lack it, and bin/run.js says so. */
const LIBATOMIC = "/usr/lib/x86_64-linux-gnu/libatomic.so.1";
const DEVICES = ["null", "zero", "random", "urandom"];
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
const SETTINGS = ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", CERTIFICATES];

/** Why this machine cannot have one. @param path the user's PATH */
export function whyNoEmptyRoot(path: string): string | undefined {
  if (process.platform !== "linux" || process.arch !== "x64" || process.getuid?.() !== 0)
    return "it needs root on Linux";
  if (!existsSync(LIBATOMIC)) return `${LIBATOMIC} is not there`;
  return ["node", "npm", ...PROGRAMS, "unshare", "chroot"]
    .filter((name) => find(name, path) === undefined)
    .map((name) => `there is no ${name}`)[0];
}

function find(program: string, path: string): string | undefined {
  return [...path.split(delimiter), "/usr/sbin", "/sbin"].map((folder) => join(folder, program)).find(existsSync);
}

/** Makes the root in `root`, a new folder, and runs a shell script in it. Resolves with its output. @throws Error when it fails */
export async function runInEmptyRoot(
  root: string,
  { script, files, path }: { script: string; files: Readonly<Record<string, string>>; path: string },
): Promise<string> {
  for (const folder of ["usr/bin", "bin", "lib64", "tmp", "dev", "proc", "user", "etc"])
    mkdirSync(join(root, folder), { recursive: true });
  for (const name of ["node", ...PROGRAMS]) await copyProgram(root, find(name, path) ?? name);
  cpSync(join(root, "usr/bin/sh"), join(root, "bin/sh"));
  const npm = dirname(dirname(realpathSync(find("npm", path) ?? "")));
  copy(npm, join(root, "usr/lib/node_modules/npm"));
  writeFileSync(join(root, "usr/bin/npm"), '#!/bin/sh\nexec node /usr/lib/node_modules/npm/bin/npm-cli.js "$@"\n', {
    mode: 0o755,
  });
  for (const file of [LIBATOMIC, ...SETTINGS].filter(existsSync)) copy(file, join(root, file));
  for (const device of DEVICES) writeFileSync(join(root, "dev", device), "");
  for (const [name, source] of Object.entries(files)) copy(source, join(root, "user", name));
  writeFileSync(join(root, "user", "script.sh"), `set -e\ncd /user\n${script}`);
  const mounts = DEVICES.map((device) => `mount --bind /dev/${device} ${root}/dev/${device}`).join(" && ");
  const enter = `${mounts} && mount -t proc proc ${root}/proc && exec chroot ${root} /bin/sh /user/script.sh`;
  const env = { HOME: "/user", PATH: "/usr/bin:/bin:/usr/sbin:/sbin:/user/prefix/bin", TMPDIR: "/tmp", NO_COLOR: "1" };
  const { code, output } = await runCommand(["unshare", "--mount", "--pid", "--fork", "sh", "-c", enter], {
    cwd: root,
    deadlineMs: 240_000,
    env: { ...env, NODE_EXTRA_CA_CERTS: CERTIFICATES },
  });
  if (code !== 0) throw new Error(`it ended with ${code}\n${output}`);
  return output;
}

/** With the libraries that it loads. */
async function copyProgram(root: string, program: string): Promise<void> {
  copy(program, join(root, "usr/bin", program.split("/").at(-1) ?? ""));
  const { output } = await runCommand(["ldd", program], { cwd: root, deadlineMs: 10_000 });
  for (const [library] of output.matchAll(/\/\S+/g))
    if (existsSync(library) && !existsSync(join(root, library))) copy(library, join(root, library));
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(realpathSync(from), to, { recursive: true });
}
