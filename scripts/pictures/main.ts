// `npm run pictures`: draws the terminal pictures of docs/pictures from real runs of `cup`. On Linux, where `script` gives it a terminal.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { freePort } from "../../test/cluster/free-port.ts";
import { runCommand } from "../run-command.ts";
import { toSvg } from "./svg.ts";
import { toTerminalLines } from "./terminal-lines.ts";

const CHECKOUT = join(import.meta.dirname, "..", "..");
const OUTPUT = join(CHECKOUT, "docs", "pictures");
const COLUMNS = 100;
const DEADLINE_MS = 120_000;

interface Picture {
  file: string;
  app: string;
  title: string;
  files: Readonly<Record<string, string>>;
}

const PACKAGE = '{ "name": "shop", "version": "1.0.0", "scripts": { "start": "node server.js" } }';
const PICTURES: readonly Picture[] = [
  { file: "push", app: "shop", title: "cup push: an app is built and runs", files: {} },
  {
    file: "failed-build",
    app: "blog",
    title: "cup push: a build fails",
    files: {
      "package.json": PACKAGE.replace("shop", "blog").replace('"start"', '"build": "node build.js", "start"'),
      "build.js": 'console.error("build.js: the folder pages is empty");\nprocess.exitCode = 1;\n',
      "server.js": "",
    },
  },
  {
    file: "crash",
    app: "orders",
    title: "cup push: an app crashes at its start",
    files: {
      "package.json": PACKAGE,
      "server.js": 'if (!process.env.DATABASE_URL) throw new Error("DATABASE_URL is not set");\n',
    },
  },
];

/** A program called `cup` in a folder of its own, as an installed package has it. */
function installCup(folder: string): string {
  mkdirSync(folder);
  const program = `#!/bin/sh\nexec "${process.execPath}" "${join(CHECKOUT, "cli", "cup.ts")}" "$@"\n`;
  writeFileSync(join(folder, "cup"), program, { mode: 0o755 });
  return folder;
}

async function draw(home: string, picture: Picture): Promise<void> {
  const folder = join(home, "apps", picture.app);
  mkdirSync(folder, { recursive: true });
  if (Object.keys(picture.files).length === 0) cpSync(join(CHECKOUT, "examples", "hello"), folder, { recursive: true });
  for (const [path, text] of Object.entries(picture.files)) writeFileSync(join(folder, path), text);
  const command = `cup push ${picture.app} -m 128M`;
  const env = { ...environmentOf(home), TERM: "xterm-256color", COLUMNS: String(COLUMNS) };
  const { output } = await runCommand(["script", "-qec", command, "/dev/null"], {
    cwd: folder,
    deadlineMs: DEADLINE_MS,
    env,
  });
  const shown = output
    .replaceAll(folder, `~/${picture.app}`)
    .replaceAll(home, "~/.cupola")
    .replaceAll(`:${port}`, ":8080");
  const lines = toTerminalLines(`\x1b[32m$\x1b[39m ${command}\n${shown.trimEnd()}`, COLUMNS);
  writeFileSync(join(OUTPUT, `${picture.file}.svg`), toSvg(picture.title, lines, COLUMNS));
}

function environmentOf(home: string): Record<string, string> {
  const path = [join(home, "bin"), dirname(process.execPath), process.env["PATH"]].join(":");
  // The settings of whoever draws are not the reader's.
  return { CUPOLA_HOME: home, CUP_HOME: join(home, "cup"), PATH: path, NPM_CONFIG_USERCONFIG: join(home, "npmrc") };
}

const port = await freePort();
const home = mkdtempSync(join(tmpdir(), "cupola-pictures-"));
const run = async (...args: string[]): Promise<void> => {
  const { code, output } = await runCommand(["cup", ...args] as [string, ...string[]], {
    cwd: home,
    deadlineMs: DEADLINE_MS,
    env: environmentOf(home),
  });
  if (code !== 0) throw new Error(`cup ${args.join(" ")} ended with ${code}: ${output}`);
};
try {
  installCup(join(home, "bin"));
  mkdirSync(OUTPUT, { recursive: true });
  await run("local", "start", "--detach", "--empty", "--port", String(port), "--kube-port", String(await freePort()));
  await run("login", "--org", "local", "--space", "dev");
  for (const picture of PICTURES) await draw(home, picture);
} finally {
  await run("local", "stop");
  rmSync(home, { recursive: true, force: true });
}
