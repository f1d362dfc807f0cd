// Installs node_modules, and caches a copy that is valid as long as its inputs are the same.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { constants, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasDependencies, installsOutside, readIfThere } from "./package.mjs";

const locks = ["npm-shrinkwrap.json", "package-lock.json"];

/** Fills `<app>/node_modules` with the app's dependencies. Throws when npm fails. */
export function installModules({ app, layers, description }) {
  const production =
    (process.env.NODE_ENV ?? "production") === "production" && process.env.NPM_CONFIG_PRODUCTION !== "false";
  const modules = join(app, "node_modules");
  if (existsSync(modules)) return console.log("       Using the node_modules that came with the app");
  if (!hasDependencies(description, production)) return console.log("       No dependencies to install");
  const layer = join(layers, "modules");
  const key = cacheKey(app, production);
  const kept = join(layer, "node_modules");
  const saved = /^key = "([0-9a-f]+)"$/m.exec(readIfThere(`${layer}.toml`))?.[1];
  // The layer's metadata is restored without its types; a layer without types is dropped.
  if (installsOutside(description)) rmSync(`${layer}.toml`, { force: true });
  else writeFileSync(`${layer}.toml`, `[types]\ncache = true\n[metadata]\nkey = "${key}"\n`);
  if (saved === key && existsSync(kept) && !installsOutside(description)) {
    console.log("       Reusing the dependencies of the last build");
    keepNpmCache(layers);
    return copy(kept, modules);
  }
  runNpm({ app, layers, production });
  rmSync(layer, { recursive: true, force: true });
  if (existsSync(modules) && !installsOutside(description)) copy(modules, kept);
}

function copy(from, to) {
  mkdirSync(to, { recursive: true });
  cpSync(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    preserveTimestamps: true,
    mode: constants.COPYFILE_FICLONE,
  });
}

/** npm's downloads are cached, too: a changed lockfile then fetches only new packages. */
function keepNpmCache(layers) {
  const cache = join(layers, "npm-cache");
  mkdirSync(cache, { recursive: true });
  writeFileSync(`${cache}.toml`, "[types]\ncache = true\n");
  return cache;
}

function runNpm({ app, layers, production }) {
  const locked = locks.some((name) => existsSync(join(app, name)));
  const args = [locked ? "ci" : "install", ...(production ? ["--omit=dev"] : ["--include=dev"])];
  if (!locked) console.log("       warning: there is no package-lock.json, so versions may change from build to build");
  console.log(`       npm ${args.join(" ")}`);
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund", "--no-progress"];
  const env = {
    ...process.env,
    npm_config_cache: keepNpmCache(layers),
    npm_config_update_notifier: "false",
    npm_config_logs_max: "0",
  };
  const { status, signal, error } = spawnSync("npm", [...args, ...quiet], {
    cwd: app,
    stdio: ["ignore", "inherit", "inherit"],
    env,
  });
  if (error?.code === "ENOENT")
    throw new Error("there is no npm on this machine; install it, or push the app with its node_modules");
  if (error) throw new Error(`npm cannot be run: ${error.message}`);
  if (status !== 0) throw new Error(`npm ${args[0]} failed with status ${status ?? signal}`);
}

/** A digest of all that decides the result: npm's inputs, and the Node for which native modules are built. */
function cacheKey(app, production) {
  const hash = createHash("sha256").update(`${process.version} ${process.platform} ${process.arch} ${production}\n`);
  const inputs = ["package.json", ...locks, ".npmrc"].map((name) => [name, readIfThere(join(app, name))]);
  return hash.update(JSON.stringify(inputs)).digest("hex");
}
