// Which main packages of a module are built, and which of them is the web process. Pure.

/** Names that say that a program serves requests, the most telling first. */
const serving = ["web", "server", "api", "app", "http", "main"];

/**
 * `mains` are folders of main packages, relative to the app's, such as "." or "cmd/web". Returns those to build by process type; {} when there is none.
 * A main package in the app's folder is the only one, else those in cmd/ count, else all.
 */
export function choosePrograms(mains, moduleName) {
  if (mains.includes(".")) return { web: "." };
  const inCmd = mains.filter((folder) => /^cmd\/[^/]+$/.test(folder));
  const candidates =
    inCmd.length > 0 ? inCmd : mains.length === 1 ? mains : mains.filter((one) => serving.includes(last(one)));
  const web = chooseWeb(candidates, moduleName);
  if (web === undefined) return {};
  const others = candidates.filter((folder) => folder !== web).map((folder) => [toType(last(folder)), folder]);
  return { web, ...Object.fromEntries(others) };
}

/** The folder that a package stands for: "./cmd/web", or its import path "example.com/shop/cmd/web". */
export function toFolder(named, moduleName) {
  const path = named.replace(/^\.\//, "").replace(/\/$/, "");
  if (path === moduleName) return ".";
  return moduleName && path.startsWith(`${moduleName}/`) ? path.slice(moduleName.length + 1) : path;
}

/** Name that `go install` gives the program of a folder; a Procfile may start it by that name. */
export function toProgramName(folder, moduleName) {
  return folder === "." ? (ownName(moduleName) ?? "app") : last(folder);
}

/** The last part of a module's path, without its major version. */
function ownName(moduleName) {
  return moduleName
    ?.replace(/\/v\d+$/, "")
    .split("/")
    .at(-1);
}

function chooseWeb(candidates, moduleName) {
  const names = [...serving, ownName(moduleName)];
  return (
    names.map((name) => candidates.find((folder) => last(folder) === name)).find(Boolean) ??
    candidates.find((folder) => /(server|web|api|d)$/.test(last(folder))) ??
    candidates[0]
  );
}

function last(folder) {
  return folder.split("/").at(-1);
}

function toType(name) {
  return name.toLowerCase().replaceAll(/[^a-z0-9-]+/g, "-");
}
