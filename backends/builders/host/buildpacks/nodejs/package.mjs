// Reads dependencies, scripts and the start command of a package.json.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The parsed package.json; empty when there is none. Throws with the reason when it cannot be read. */
export function readPackage(app) {
  const text = readIfThere(join(app, "package.json")).replace(/^\uFEFF/, "");
  if (text === "") return {};
  let description;
  try {
    description = JSON.parse(text);
  } catch (error) {
    throw new Error(`package.json is not valid JSON: ${error.message}`);
  }
  if (typeof description !== "object" || description === null || Array.isArray(description))
    throw new Error("package.json is not a JSON object");
  return description;
}

/** The text of a file; "" when it does not exist. */
export function readIfThere(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return "";
    throw error;
  }
}

/** The start command, for a shell; undefined when the app has none. */
export function findStart(app, { scripts, main }) {
  const { prestart, start, poststart } = scripts ?? {};
  // Runs the script without npm, which takes memory and keeps signals from the app.
  if (start) return [prestart, start, poststart].filter(Boolean).join(" && ");
  const file = ["server.js", "server.mjs", "server.cjs", main, "app.js", "main.js", "index.js", "index.mjs"].find(
    (name) => typeof name === "string" && name !== "" && existsSync(join(app, name)),
  );
  return file && `node ${/^[A-Za-z0-9_./-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`}`;
}

/** Whether npm has anything to install. */
export function hasDependencies(description, production) {
  const { dependencies, optionalDependencies, devDependencies } = description;
  const counted = [dependencies, optionalDependencies, ...(production ? [] : [devDependencies])];
  return counted.some((group) => Object.keys(group ?? {}).length > 0) || installsOutside(description);
}

/** Whether an install also writes outside the app's node_modules; a copy of node_modules would then be incomplete. */
export function installsOutside({ scripts, workspaces, dependencies, optionalDependencies, devDependencies }) {
  const own = ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"].some(
    (name) => scripts?.[name],
  );
  const linked = Object.values({ ...dependencies, ...optionalDependencies, ...devDependencies }).some(
    (spec) => /^(file:|link:|\.|\/)/.test(String(spec)) && !/\.(tgz|tar\.gz)$/.test(String(spec)),
  );
  return own || linked || workspaces !== undefined;
}
