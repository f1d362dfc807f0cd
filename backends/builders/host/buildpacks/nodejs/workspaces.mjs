// The packages of a workspace (npm, Yarn, Bun, pnpm): which of them is the app, and which it needs built before.
import { existsSync, globSync } from "node:fs";
import { dirname, join } from "node:path";
import { readIfThere } from "../shared/files.mjs";
import { Problem } from "../shared/log.mjs";
import { findScript, readPackage } from "./package.mjs";

/** Names the folder of the app's package where several could be it; Paketo's buildpacks read it, too. */
const CHOICE = "BP_NODE_PROJECT_PATH";
const starts = ["start", "start:prod", "start:production", "serve:prod"];
const programs = ["server.js", "server.mjs", "server.cjs", "server.ts"];

/** `{ folder, description }` of each package below the top; none where there is no workspace. */
export function listMembers(app, description) {
  const patterns = [...workspacesOf(description), ...pnpmPackages(app)].map((one) => one.replace(/^(!?)\.\//, "$1"));
  const find = (pattern) =>
    globSync(`${pattern.replace(/\/$/, "")}/package.json`, { cwd: app, exclude: isOutside }).map(dirname);
  const left = new Set(patterns.filter((one) => one.startsWith("!")).flatMap((one) => find(one.slice(1))));
  const folders = new Set(patterns.filter((one) => !one.startsWith("!")).flatMap(find));
  return [...folders]
    .filter((folder) => folder !== "." && !folder.startsWith("..") && !left.has(folder))
    .sort()
    .map((folder) => ({ folder, description: readPackage(join(app, folder)) }));
}

function workspacesOf({ workspaces }) {
  const list = Array.isArray(workspaces) ? workspaces : workspaces?.packages;
  return (Array.isArray(list) ? list : []).filter((one) => typeof one === "string");
}

/** The list `packages` of pnpm-workspace.yaml, a text on each line. */
function pnpmPackages(app) {
  const list =
    /^packages:[^\n]*\n((?:[ \t]*(?:-[^\n]*|#[^\n]*)?\n)*)/m.exec(
      `${readIfThere(join(app, "pnpm-workspace.yaml"))}\n`,
    )?.[1] ?? "";
  return [...list.matchAll(/^\s*-\s*(["']?)([^"'#\n]+)\1/gm)].map(([, , text]) => text.trim());
}

function isOutside(path) {
  return /(^|\/)node_modules(\/|$)/.test(typeof path === "string" ? path : path.name);
}

/** The packages that may be the app: the chosen one, else those that say how they start, else those with a build that no other one needs. */
export function findCandidates(app, members, chosen = process.env[CHOICE]) {
  if (chosen) return [findChosen(members, chosen)];
  const starting = members.filter(
    ({ folder, description }) =>
      findScript(description, starts) !== undefined || programs.some((name) => existsSync(join(app, folder, name))),
  );
  if (starting.length > 0) return starting;
  const needed = new Set(members.flatMap(({ description }) => namesNeededBy(description)));
  return members.filter(({ description }) => findScript(description, ["build"]) && !needed.has(description.name));
}

function findChosen(members, chosen) {
  const folder = chosen.replace(/^\.\//, "").replace(/\/$/, "");
  const found = members.find((one) => one.folder === folder || one.description.name === chosen);
  if (found) return found;
  const known = members.map((one) => one.folder).join(", ") || "none";
  throw new Problem(
    `${CHOICE} is ${chosen}, which is no package of the workspace. Next: set it to one of its folders: ${known}`,
  );
}

/** Whether the top package is the app itself. */
export function startsItself(app, description) {
  const { main } = description;
  const hasMain = typeof main === "string" && main !== "" && existsSync(join(app, main));
  const files = [...programs, "Staticfile"].some((name) => existsSync(join(app, name)));
  return findScript(description, starts) !== undefined || hasMain || files;
}

/** The next step where several packages could be the app. */
export function describeChoice(candidates) {
  const folders = candidates.map(({ folder }) => folder);
  return `each of ${folders.join(", ")} could be the app. Next: choose one, ${CHOICE}=${folders[0]} (cf set-env), or give the package.json at the top a script "start"`;
}

/** The packages to build for one, itself last: those that it needs, each after those that it needs itself. */
export function planBuilds(members, member) {
  const byName = new Map(members.map((one) => [one.description.name, one]));
  const planned = new Set();
  const visit = (one, path) => {
    if (path.includes(one)) return; // a circle
    for (const name of namesNeededBy(one.description)) if (byName.has(name)) visit(byName.get(name), [...path, one]);
    planned.add(one);
  };
  visit(member, []);
  return [...planned].filter(({ description }) => findScript(description, ["build"]));
}

function namesNeededBy({ dependencies, devDependencies, optionalDependencies }) {
  return Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies });
}

/** Refuses a package that was pushed without the workspace in which it finds others. */
export function requireWorkspace(app, description, members) {
  if (members.length > 0 || existsSync(join(app, "pnpm-workspace.yaml")) || description.workspaces) return;
  const { dependencies, devDependencies, optionalDependencies } = description;
  const [name] =
    Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }).find(([, spec]) =>
      String(spec).startsWith("workspace:"),
    ) ?? [];
  if (name && !existsSync(join(app, "node_modules", name)))
    throw new Problem(
      `${name} is another package of the workspace, which was not pushed. Next: push the workspace whole, from its top folder, with ${CHOICE} (cf set-env) as this package's folder in it`,
    );
}
