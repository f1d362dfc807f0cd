// node_modules as a layer of its own, kept for the next build as long as what it was made from is the same.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasDependencies, hasInstallScripts } from "./package.mjs";

const locks = ["npm-shrinkwrap.json", "package-lock.json"];

/** Afterwards `<app>/node_modules` holds what the app depends on. Throws when npm fails. */
export function installModules({ app, layers, description }) {
  const production = (process.env.NODE_ENV ?? "production") === "production";
  if (existsSync(join(app, "node_modules"))) return console.log("       Using the node_modules that came with the app");
  if (!hasDependencies(description, production) && !hasInstallScripts(description)) return console.log("       No dependencies to install");
  const layer = join(layers, "modules");
  const key = cacheKey(app, production);
  const saved = /^key = "([0-9a-f]+)"$/m.exec(readIfThere(`${layer}.toml`))?.[1];
  const modules = join(layer, "node_modules");
  if (saved === key && existsSync(modules) && !hasInstallScripts(description)) {
    console.log("       Reusing the dependencies of the last build");
  } else {
    runNpm({ app, layers, production });
    rmSync(layer, { recursive: true, force: true });
    mkdirSync(layer, { recursive: true });
    if (existsSync(join(app, "node_modules"))) renameSync(join(app, "node_modules"), modules);
    else mkdirSync(modules);
  }
  symlinkSync(modules, join(app, "node_modules"));
  writeFileSync(`${layer}.toml`, `[types]\nlaunch = true\ncache = true\n[metadata]\nkey = "${key}"\n`);
}

/** What npm has downloaded is kept too: a changed lockfile then fetches only what is new. */
function runNpm({ app, layers, production }) {
  const cache = join(layers, "npm-cache");
  mkdirSync(cache, { recursive: true });
  writeFileSync(`${cache}.toml`, "[types]\ncache = true\n");
  const locked = locks.some((name) => existsSync(join(app, name)));
  const args = [locked ? "ci" : "install", ...(production ? ["--omit=dev"] : []), "--no-audit", "--no-fund", "--no-progress", "--no-update-notifier", "--install-links", "--cache", cache];
  if (!locked) console.log("       No package-lock.json: versions may change from build to build. Run npm install, and push the lockfile with the app");
  console.log(`       npm ${args.slice(0, production ? 2 : 1).join(" ")}`);
  const { status, signal, error } = spawnSync("npm", args, { cwd: app, stdio: "inherit", env: { ...process.env, NODE_ENV: production ? "production" : process.env.NODE_ENV } });
  if (error) throw new Error(`npm cannot be run: ${error.message}. Install npm, or push node_modules with the app`);
  if (status !== 0) throw new Error(`npm ${args[0]} ended with ${status ?? signal}`);
}

/** Everything that decides what npm installs: its inputs, and the Node that native modules are built for. */
function cacheKey(app, production) {
  const hash = createHash("sha256").update(`${process.version} ${process.platform} ${process.arch} ${production}\n`);
  const inputs = ["package.json", ...locks, ".npmrc"].map((name) => [name, readIfThere(join(app, name))]);
  return hash.update(JSON.stringify(inputs)).digest("hex");
}

function readIfThere(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return "";
    throw error;
  }
}
