// What a package.json says: dependencies, scripts, and how the app starts. Reads only.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The parsed package.json. Throws with the reason when it is none. */
export function readPackage(app) {
  let description;
  try {
    description = JSON.parse(readFileSync(join(app, "package.json"), "utf8"));
  } catch (error) {
    throw new Error(`package.json is not JSON: ${error.message}`);
  }
  if (typeof description !== "object" || description === null || Array.isArray(description)) throw new Error("package.json is not a JSON object");
  return description;
}

/** The start command, for a shell; undefined when there is nothing to start. */
export function findStart(app, { scripts = {}, main }) {
  if (scripts.start) {
    // As npm start does, without npm between the platform's signals and the app. `exec` only where the whole line is one program.
    const plain = /^[A-Za-z0-9_@%+=:,./ -]+$/.test(scripts.start) && !/^\S*=/.test(scripts.start);
    const steps = [scripts.prestart, plain ? `exec ${scripts.start}` : scripts.start].filter(Boolean);
    return steps.length === 1 && plain ? scripts.start : steps.join(" && ");
  }
  const file = ["server.js", main, "index.js", "server.mjs", "index.mjs"].find((name) => typeof name === "string" && name !== "" && existsSync(join(app, name)));
  return file && `node ${/^[A-Za-z0-9_./-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`}`;
}

/** Is there anything to install? */
export function hasDependencies({ dependencies = {}, optionalDependencies = {}, devDependencies = {}, workspaces }, production) {
  const counted = [dependencies, optionalDependencies, ...(production ? [] : [devDependencies])];
  return counted.some((group) => Object.keys(group).length > 0) || workspaces !== undefined;
}

/** Scripts of the app itself that npm runs while it installs: what they make is not in node_modules. */
export function hasInstallScripts({ scripts = {} }) {
  return ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"].some((name) => scripts[name]);
}
