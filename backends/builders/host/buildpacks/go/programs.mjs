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

function chooseWeb(candidates, moduleName) {
  const own = moduleName
    ?.replace(/\/v\d+$/, "")
    .split("/")
    .at(-1);
  const names = [...serving, own];
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
