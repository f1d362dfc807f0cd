// Which programs and packages a start command needs, to see before an install whether devDependencies have to stay. Pure but for the look at the PATH.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findTool } from "../shared/tools.mjs";

/** Programs that run the one behind them. */
const wrappers = new Set([
  "exec",
  "env",
  "time",
  "nice",
  "npx",
  "pnpx",
  "cross-env",
  "cross-env-shell",
  "dotenv",
  "dotenvx",
  "dotenv-cli",
]);
const managers = new Set(["npm", "pnpm", "yarn", "bun"]);
const builtins = new Set([
  "cd",
  "echo",
  "export",
  "set",
  "unset",
  "source",
  ".",
  ":",
  "test",
  "[",
  "true",
  "ulimit",
  "umask",
  "if",
  "then",
  "wait",
]);
/** Scripts that run scripts, deep enough for people and short enough for a circle. */
const DEEPEST = 5;

/** The programs that the command runs by itself or by scripts of package.json, in order. */
export function programsOf(command, scripts = {}) {
  return expand(command, scripts).flatMap((words) => takePrograms(words).programs);
}

/** The packages that the command has Node load before the program: `node --import tsx`, `node -r ts-node/register`. */
export function preloadsOf(command, scripts = {}) {
  return expand(command, scripts).flatMap((words) =>
    words.flatMap((word, at) => {
      const [, inline] = /^(?:--import|--require|--(?:experimental-)?loader)=(.+)$/.exec(word) ?? [];
      const next = /^(?:-r|--import|--require|--(?:experimental-)?loader)$/.test(word) ? words[at + 1] : undefined;
      return inline ?? next ?? [];
    }),
  );
}

/**
 * Whether the command may need devDependencies, before an install can tell: it has Node load one of them, or a program is named like one, or is neither named
 * like a dependency nor on the PATH.
 */
export function mayNeedDev({ dependencies = {}, devDependencies = {}, scripts }, commands) {
  if (Object.keys(devDependencies).length === 0) return false;
  return commands.some(
    (command) =>
      preloadsOf(command, scripts).some((name) => isOf(devDependencies, name)) ||
      programsOf(command, scripts).some(
        (program) =>
          Object.hasOwn(devDependencies, program) || (!Object.hasOwn(dependencies, program) && !isElsewhere(program)),
      ),
  );
}

/** The package of devDependencies whose program the command starts, or that it has Node load: without it the app would not start. `folders` have node_modules. Call it after the install. */
export function findNeededDevDependency(folders, { devDependencies = {}, scripts }, command) {
  const programs = programsOf(command, scripts);
  const preloads = preloadsOf(command, scripts);
  return Object.keys(devDependencies).find((name) => {
    if (isOf({ [name]: "" }, ...preloads)) return true;
    const path = folders.map((one) => join(one, "node_modules", name, "package.json")).find((one) => existsSync(one));
    if (!path) return false;
    const { bin } = JSON.parse(readFileSync(path, "utf8"));
    const own = typeof bin === "string" ? [name.split("/").at(-1)] : Object.keys(bin ?? {});
    return own.some((program) => programs.includes(program));
  });
}

/** Whether no package brings the program: the shell, the machine or the app does. */
function isElsewhere(program) {
  return builtins.has(program) || managers.has(program) || program.includes("/") || findTool(program) !== undefined;
}

/** Whether any of the names is a package of the group, or a file of one: `ts-node/register`. */
function isOf(group, ...names) {
  return names.some((name) => Object.keys(group).some((one) => name === one || name.startsWith(`${one}/`)));
}

/** The words of each simple command, with the scripts that it runs in place of the package manager's call. */
function expand(command, scripts, depth = 0) {
  const parts = (command ?? "")
    .split(/&&|\|\||[;|&\n]/)
    .map((part) => part.trim().split(/\s+/).map(unquote).filter(Boolean));
  return parts.flatMap((words) => {
    const script = depth < DEEPEST ? scriptOf(takePrograms(words).rest) : undefined;
    const texts = script === undefined ? [] : [scripts[`pre${script}`], scripts[script], scripts[`post${script}`]];
    return [
      words,
      ...texts.filter((text) => typeof text === "string").flatMap((text) => expand(text, scripts, depth + 1)),
    ];
  });
}

/** The programs of one command, wrappers among them, and its words from the last of them on. */
function takePrograms(words) {
  const programs = [];
  for (const [at, word] of words.entries()) {
    if (word.startsWith("-") || /^\w+=/.test(word)) continue;
    programs.push(word.replace(/^(\.\/)?node_modules\/\.bin\//, ""));
    if (managers.has(word) && ["exec", "dlx", "x"].includes(words[at + 1])) {
      const { programs: others, rest } = takePrograms(words.slice(at + 2));
      return { programs: [...programs, ...others], rest };
    }
    if (!wrappers.has(word)) return { programs, rest: words.slice(at) };
  }
  return { programs, rest: [] };
}

/** The script that a call of a package manager or of Node runs: `npm start`, `yarn serve`, `node --run web`. */
function scriptOf([program, ...args]) {
  if (program === "node") return args[0] === "--run" ? args[1] : undefined;
  if (!managers.has(program)) return undefined;
  const [verb, name] = args.filter((word) => !word.startsWith("-"));
  return verb === "run" || verb === "run-script" ? name : verb;
}

function unquote(word) {
  return word.replaceAll(/["']/g, "");
}
