// Facts of a package.json: dependencies, scripts, and whether an install stays inside node_modules.
import { readJson } from "../shared/files.mjs";

/** The parsed package.json; empty when there is none. Throws with the reason when it cannot be read. */
export function readPackage(app) {
  return readJson(app, "package.json");
}

/** Whether the user wants an install without devDependencies at the end, as production is. */
export function isProduction(env = process.env) {
  return (env.NODE_ENV ?? "production") === "production" && env.NPM_CONFIG_PRODUCTION !== "false";
}

/** Whether a package manager has anything to install. */
export function hasDependencies(description, withDev) {
  const { dependencies, optionalDependencies, devDependencies } = description;
  const counted = [dependencies, optionalDependencies, ...(withDev ? [devDependencies] : [])];
  return counted.some((group) => Object.keys(group ?? {}).length > 0) || installsOutside(description);
}

/** Whether the app depends on a package, in any group. */
export function dependsOn({ dependencies, devDependencies, optionalDependencies }, name) {
  return Object.hasOwn({ ...devDependencies, ...optionalDependencies, ...dependencies }, name);
}

/** Whether an install also writes outside the app's node_modules; a copy of node_modules would then be incomplete. */
export function installsOutside({ scripts, workspaces, dependencies, optionalDependencies, devDependencies }) {
  const own = ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"].some(
    (name) => scripts?.[name],
  );
  const linked = Object.values({ ...dependencies, ...optionalDependencies, ...devDependencies }).some(
    (spec) => /^(file:|link:|portal:|workspace:|\.|\/)/.test(String(spec)) && !/\.(tgz|tar\.gz)$/.test(String(spec)),
  );
  return own || linked || workspaces !== undefined;
}

/** The first of `names` that package.json has as a script. */
export function findScript({ scripts }, names) {
  return names.find((name) => typeof scripts?.[name] === "string" && scripts[name].trim() !== "");
}
