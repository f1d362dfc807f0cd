// What a package.json says: dependencies, scripts, and how the app starts. Reads only.
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
    throw new Error(`package.json is no JSON: ${error.message}`);
  }
  if (typeof description !== "object" || description === null || Array.isArray(description))
    throw new Error("package.json is no JSON object");
  return description;
}

/** The text of a file, "" when there is none. */
export function readIfThere(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return "";
    throw error;
  }
}

/** The start command, for a shell; undefined when there is nothing to start. */
export function findStart(app, { scripts, main }) {
  const { prestart, start, poststart } = scripts ?? {};
  // Run as npm would, but without npm in between, which takes memory and keeps signals from the app.
  if (start) return [prestart, start, poststart].filter(Boolean).join(" && ");
  const file = ["server.js", "server.mjs", "server.cjs", main, "app.js", "main.js", "index.js", "index.mjs"].find(
    (name) => typeof name === "string" && name !== "" && existsSync(join(app, name)),
  );
  return file && `node ${/^[A-Za-z0-9_./-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`}`;
}

/** Is there anything for npm to do? */
export function hasDependencies(description, production) {
  const { dependencies, optionalDependencies, devDependencies } = description;
  const counted = [dependencies, optionalDependencies, ...(production ? [] : [devDependencies])];
  return counted.some((group) => Object.keys(group ?? {}).length > 0) || installsOutside(description);
}

/** Does an install leave something outside the app's node_modules? Then a copy of that is not the whole of it. */
export function installsOutside({ scripts, workspaces, dependencies, optionalDependencies, devDependencies }) {
  const own = ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"].some(
    (name) => scripts?.[name],
  );
  const linked = Object.values({ ...dependencies, ...optionalDependencies, ...devDependencies }).some(
    (spec) => /^(file:|link:|\.|\/)/.test(String(spec)) && !/\.(tgz|tar\.gz)$/.test(String(spec)),
  );
  return own || linked || workspaces !== undefined;
}
