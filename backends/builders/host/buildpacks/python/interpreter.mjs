// Which Python runs the app: the version that the project asks for, among those of this machine.
import { existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import semver from "semver";
import { readIfThere, readVersionFile } from "../shared/files.mjs";
import { Problem, warn } from "../shared/log.mjs";
import { outputOf, userHome } from "../shared/tools.mjs";

/** `{ range, source, text }` of the version that the project asks for; undefined when it accepts any. */
export function wantedPython(app, project) {
  const file = readVersionFile(join(app, ".python-version"));
  if (file) return { range: toRange(file), source: ".python-version", text: file };
  const runtime = /^python-(\S+)/.exec(readIfThere(join(app, "runtime.txt")))?.[1];
  if (runtime) return { range: toRange(runtime), source: "runtime.txt", text: runtime };
  const required = project.project?.["requires-python"] ?? project.tool?.poetry?.dependencies?.python;
  if (typeof required !== "string") return undefined;
  return { range: toRange(required), source: "pyproject.toml", text: required };
}

/** A range of semver for a version such as 3.12 or a specifier such as ">=3.10,<4" or "~=3.11". "" accepts all. */
export function toRange(text) {
  const parts = text.split(",").map((part) => part.trim());
  const ranges = parts.map((part) => {
    const [, operator = "", version = ""] = /^(~=|==|>=|<=|!=|\^|~|>|<)?\s*v?([\d.]+)/.exec(part) ?? [];
    const numbers = version.split(".").filter(Boolean);
    if (numbers.length === 0 || operator === "!=") return "";
    if (operator === "~=")
      return `>=${numbers.join(".")} <${numbers.length > 2 ? `${numbers[0]}.${Number(numbers[1]) + 1}` : Number(numbers[0]) + 1}`;
    return `${operator === "==" ? "" : operator}${numbers.join(".")}`;
  });
  return semver.validRange(ranges.filter(Boolean).join(" ")) ?? "";
}

/** The program and version of the Python to use. Throws with those that are here when none fits. */
export function findPython(wanted) {
  const [standard] = eachPython();
  if (!standard)
    throw new Problem(
      "Python is not installed on this machine: there is no python3 on the PATH. Next: install Python 3 (python.org, or your system's packages python3 and python3-venv)",
    );
  // Each of pyenv's programs takes a quarter of a second to tell its version, so the others are asked only when they matter.
  if (!wanted || semver.satisfies(standard.version, wanted.range)) return standard;
  const pinned = /^3\.\d+/.exec(wanted.text)?.[0];
  for (const one of pinned ? eachPython((program) => program.includes(pinned)) : [])
    if (semver.satisfies(one.version, wanted.range)) return one;
  const [, ...others] = eachPython();
  const found = [standard, ...others.sort((a, b) => semver.rcompare(a.version, b.version))];
  const exact = found.find(({ version }) => semver.satisfies(version, wanted.range));
  if (exact) return exact;
  const [major, minor] = wanted.text.split(".");
  const sameMinor = found.find(({ version }) => minor !== undefined && version.startsWith(`${major}.${minor}.`));
  if (sameMinor) {
    warn(`${wanted.source} asks for Python ${wanted.text}; ${sameMinor.version} is used, which is on this machine`);
    return sameMinor;
  }
  throw new Problem(
    `Python ${wanted.text}, which ${wanted.source} asks for, is not on this machine; it has ${found.map(({ version }) => version).join(", ")}. Next: install it (pyenv install ${wanted.text.replace(/[^\d.]/g, "")}, uv python install ${wanted.text.replace(/[^\d.]/g, "")}), or change ${wanted.source}`,
  );
}

/** A program for each version among those that `isWorth` asking, the default first. */
function* eachPython(isWorth = () => true) {
  const seen = new Set();
  const programs = new Set([...onPath(/^python3?$/), ...onPath(/^python3\.\d+$/), ...inVersionManagers()]);
  for (const program of [...programs].filter(isWorth)) {
    const version = /^Python (3\.\d+\.\d+)/.exec(outputOf([program, "--version"]) ?? "")?.[1];
    if (version && !seen.has(version)) {
      seen.add(version);
      yield { version, program };
    }
  }
}

function onPath(pattern) {
  return (process.env.PATH ?? "").split(delimiter).flatMap((folder) => list(folder, pattern));
}

/** The Pythons of pyenv and uv, whose folders need not be on the PATH. */
function inVersionManagers() {
  const home = userHome() ?? "/";
  return [join(home, ".pyenv", "versions"), join(home, ".local", "share", "uv", "python")].flatMap((folder) =>
    list(folder, /3\.\d+/)
      .map((version) => join(version, "bin", "python3"))
      .filter((program) => existsSync(program)),
  );
}

function list(folder, pattern) {
  try {
    return readdirSync(folder)
      .filter((name) => pattern.test(name))
      .sort((a, b) => b.localeCompare(a))
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}
