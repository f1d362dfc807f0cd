// Which package manager the app uses, in which version, and its commands. npm is the machine's; pnpm, Yarn and Bun come from the npm registry.
import { existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { present, readIfThere, readJson } from "../shared/files.mjs";
import { openLayer, packageCache } from "../shared/layers.mjs";
import { Problem, warn } from "../shared/log.mjs";
import { DEFAULT_BUN, provideBun } from "./bun.mjs";
import { npmCommand } from "./node-version.mjs";
import { installIntoLayer } from "./npm-layer.mjs";

const locks = {
  pnpm: ["pnpm-lock.yaml"],
  yarn: ["yarn.lock"],
  npm: ["package-lock.json", "npm-shrinkwrap.json"],
  bun: ["bun.lock", "bun.lockb"],
};

/** Every file besides package.json that decides what is installed. */
export const inputs = [...Object.values(locks).flat(), ".npmrc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml"];

/** `{ name, version, lock, why }`: by packageManager, else by the lockfile. Throws when packageManager names an unknown one. */
export function choosePackageManager(app, { packageManager }) {
  const found = Object.entries(locks).flatMap(([name, files]) => present(app, files).map((lock) => ({ name, lock })));
  const [, named, version] = /^([a-z]+)@([^+]+)/.exec(packageManager ?? "") ?? [];
  if (named && !locks[named])
    throw new Problem(`packageManager in package.json is ${packageManager}. Next: use npm, pnpm, yarn or bun`);
  const name = named ?? found[0]?.name ?? "npm";
  const lock = found.find((one) => one.name === name)?.lock;
  const others = found.filter((one) => one.name !== name).map((one) => one.lock);
  if (others.length > 0)
    warn(`${others.join(" and ")} is not used: ${named ? "packageManager" : lock} says ${name}; remove one of them`);
  return {
    name,
    lock,
    version: version ?? defaultVersion(app, name),
    why: named ? "packageManager" : (lock ?? "no lockfile"),
  };
}

/** The version that wrote the lockfile. */
function defaultVersion(app, name) {
  if (name === "pnpm") {
    const format = Number(/^lockfileVersion: '?(\d+)/m.exec(readIfThere(join(app, "pnpm-lock.yaml")))?.[1] ?? 9);
    return format >= 9 ? "10" : format >= 6 ? "8" : "7";
  }
  if (name === "yarn") return /^__metadata:/m.test(readIfThere(join(app, "yarn.lock"))) ? "4" : "1";
  return name === "bun" ? DEFAULT_BUN : undefined;
}

/** The commands of the package manager: `install(withDev)`, `prune()` and `run(script)` give arguments and variables for runStep. */
export function toCommands(app, manager) {
  if (manager.name === "npm") return npmCommands(manager);
  if (manager.name === "bun") return bunCommands(manager, provideBun(manager));
  const program = provideProgram(app, manager);
  if (manager.name === "pnpm") return pnpmCommands(manager, program);
  return isClassic(manager) ? classicYarnCommands(manager, program) : yarnCommands(manager, program);
}

function isClassic({ version }) {
  return /^[\^~]?1(\.|$)/.test(version);
}

function cacheFolder(name) {
  const layer = openLayer(name, { cache: true });
  layer.keep();
  return layer.path;
}

function npmCommands({ lock }) {
  const env = {
    npm_config_cache: packageCache("npm-cache"),
    npm_config_update_notifier: "false",
    npm_config_logs_max: "0",
  };
  const npm = npmCommand();
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund", "--no-progress"];
  const command = (shown, more = []) => ({
    argv: [...npm, ...shown, ...more],
    shown: ["npm", ...shown].join(" "),
    env,
  });
  return {
    install: (withDev) => command([lock ? "ci" : "install", withDev ? "--include=dev" : "--omit=dev"], quiet),
    prune: () => command(["prune", "--omit=dev"], ["--ignore-scripts", ...quiet]),
    run: (script) => command(["run", script]),
    isRelocatable: true,
  };
}

function pnpmCommands({ lock }, program) {
  const env = {
    CI: "true",
    npm_config_store_dir: cacheFolder("pnpm-store"),
    npm_config_manage_package_manager_versions: "false",
    npm_config_update_notifier: "false",
    // pnpm 10 else skips the install scripts of dependencies without a word that ends the build.
    npm_config_strict_dep_builds: "false",
  };
  const command = (shown, more = []) => ({
    argv: [...program, ...shown, ...more],
    shown: ["pnpm", ...shown].join(" "),
    env,
  });
  return {
    install: (withDev) =>
      command(
        ["install", lock ? "--frozen-lockfile" : "--no-frozen-lockfile", withDev ? "--prod=false" : "--prod"],
        ["--prefer-offline", "--reporter=append-only"],
      ),
    prune: () => command(["prune", "--prod"], ["--ignore-scripts"]),
    run: (script) => command(["run", script]),
    // Its node_modules names the folder of its store.
    isRelocatable: false,
  };
}

function classicYarnCommands({ lock }, program) {
  const env = { YARN_CACHE_FOLDER: packageCache("yarn-cache"), YARN_ENABLE_TELEMETRY: "0" };
  const command = (shown, more = []) => ({
    argv: [...program, ...shown, ...more],
    shown: ["yarn", ...shown].join(" "),
    env,
  });
  const frozen = lock ? ["--frozen-lockfile"] : [];
  const quiet = ["--non-interactive", "--prefer-offline", "--no-progress"];
  return {
    install: (withDev) => command(["install", ...frozen, `--production=${!withDev}`], quiet),
    prune: () => command(["install", ...frozen, "--production=true"], ["--ignore-scripts", ...quiet]),
    run: (script) => command(["run", script]),
    isRelocatable: true,
  };
}

function yarnCommands({ lock }, program) {
  const env = {
    // The files of a droplet move; Plug'n'Play's absolute paths do not move with them.
    YARN_NODE_LINKER: "node-modules",
    YARN_CACHE_FOLDER: packageCache("yarn-cache"),
    YARN_ENABLE_GLOBAL_CACHE: "false",
    YARN_ENABLE_TELEMETRY: "0",
    YARN_IGNORE_PATH: "1",
  };
  const command = (shown) => ({ argv: [...program, ...shown], shown: ["yarn", ...shown].join(" "), env });
  return {
    install: () => command(["install", ...(lock ? ["--immutable"] : ["--no-immutable"])]),
    prune: () => command(["workspaces", "focus", "--all", "--production"]),
    run: (script) => command(["run", script]),
    isRelocatable: true,
  };
}

function bunCommands({ lock }, bin) {
  const env = { BUN_INSTALL_CACHE_DIR: cacheFolder("bun-cache"), DO_NOT_TRACK: "1" };
  const command = (shown, more = []) => ({
    argv: [join(bin, "bun"), ...shown, ...more],
    shown: ["bun", ...shown].join(" "),
    env: { ...env, PATH: [bin, process.env.PATH].join(delimiter) },
  });
  const install = ["install", ...(lock ? ["--frozen-lockfile"] : [])];
  return {
    install: (withDev) => command([...install, ...(withDev ? [] : ["--production"])], ["--no-progress"]),
    // Bun removes nothing that is there.
    prune: () => ({ ...command([...install, "--production"], ["--ignore-scripts", "--no-progress"]), isAnew: true }),
    run: (script) => command(["run", script]),
    isRelocatable: true,
  };
}

/** pnpm or Yarn as a command of the platform's Node, from the app's .yarn/releases or the npm registry. */
function provideProgram(app, manager) {
  const carried = manager.name === "yarn" ? findRelease(app) : undefined;
  if (carried) return [process.execPath, carried];
  const name = manager.name === "pnpm" ? "pnpm" : isClassic(manager) ? "yarn" : "@yarnpkg/cli-dist";
  const wanted = `${name}@${manager.version}`;
  const layer = openLayer("package-manager", { cache: true });
  const folder = join(layer.path, "node_modules", name);
  installIntoLayer(layer, { wanted, file: folder });
  const program = join(folder, readJson(folder, "package.json").bin[manager.name]);
  return /\.(c|m)?js$/.test(program) ? [process.execPath, program] : [program];
}

function findRelease(app) {
  const folder = join(app, ".yarn", "releases");
  const name = existsSync(folder) && readdirSync(folder).find((one) => /^yarn-.*\.c?js$/.test(one));
  return name ? join(folder, name) : undefined;
}
