// Bun, as the npm registry has it: a package manager, and for apps that start by it what runs them.
import { join } from "node:path";
import { readIfThere } from "../shared/files.mjs";
import { openLayer } from "../shared/layers.mjs";
import { installIntoLayer } from "./npm-layer.mjs";

/** The newest of it, unless packageManager names another. */
export const DEFAULT_BUN = "1";

/** The folder of Bun's program. The layer is part of the droplet only if `useBun` says so. */
export function provideBun({ version }) {
  const name = packageName();
  const wanted = `${name}@${version}`;
  const layer = openLayer("bun", { cache: true });
  const bin = join(layer.path, "node_modules", name, "bin");
  installIntoLayer(layer, { wanted, file: join(bin, "bun") });
  return bin;
}

/** Gives the app Bun at its start. */
export function launchBun({ version }, bin) {
  const layer = openLayer("bun", { cache: true, launch: true });
  layer.setLaunchVariables({ "PATH.prepend": bin });
  layer.keep({ key: `${packageName()}@${version}` });
}

function packageName() {
  const arch = process.arch === "arm64" ? "aarch64" : process.arch;
  const isMusl = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
  return `@oven/bun-${process.platform}-${arch}${isMusl ? "-musl" : ""}`;
}

/**
 * Whether the droplet of an app that Bun installs takes Bun along: a command of its Procfile or its start needs it,
 * or nothing says how it starts, so that `-c` will. `start` is the web process's: a command, or a site, which needs none.
 */
export function takesBun(app, { procfile = {}, start }) {
  const commands = [...Object.values(procfile), ...(start?.command ? [start.command] : [])];
  return start === undefined || commands.some((command) => withBun(app, command) !== undefined);
}

/** A start command that needs Bun: a word of it is Bun, or Node would run a file that only Bun understands. Pure but for the read. */
export function withBun(app, command) {
  if (/(^|[\s/])bunx?(\s|$)/.test(command)) return command;
  const [, file] = /^node (\S+\.[cm]?[jt]sx?)$/.exec(command) ?? [];
  const isForBun = file && (/tsx?$/.test(file) || /\bBun\.|["']bun(:\w+)?["']/.test(readIfThere(join(app, file))));
  return isForBun ? `bun ${file}` : undefined;
}
