// Installs node_modules for the build, keeps a copy for the next one, and prunes what only the build needed.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { digestOf } from "../shared/files.mjs";
import { copyTree, digestOfTree, linkTree, moveTree } from "../shared/copy-tree.mjs";
import { openLayer } from "../shared/layers.mjs";
import { say, warn } from "../shared/log.mjs";
import { runStep } from "../shared/tools.mjs";
import { installsOutside } from "./package.mjs";
import { inputs } from "./package-manager.mjs";
import { adapterSettings } from "./sveltekit.mjs";

/** Fills `<app>/node_modules`, from the last build where nothing has changed. `withDev`: with devDependencies. */
export function installModules({ app, description, manager, commands, node, withDev }) {
  const modules = join(app, "node_modules");
  const layer = openLayer("modules", { cache: true });
  const kept = join(layer.path, "node_modules");
  const key = digestOf(app, { texts: [node.version, manager.name, withDev], files: ["package.json", ...inputs] });
  const isReusable = commands.isRelocatable && !installsOutside(description);
  const isKept = isReusable && layer.isFor(key) && existsSync(kept);
  const isChanged = isKept && layer.saved.tree !== undefined && digestOfTree(kept) !== layer.saved.tree;
  const copied = layer.saved.copied === true || isChanged;
  if (isKept && !isChanged) {
    say("Reusing the dependencies of the last build");
    return layer.keep({ ...layer.saved, ...fill({ from: kept, to: modules, kept, copied }), "in-place": true });
  }
  if (isChanged)
    say("The last build changed its dependencies in place: they are installed again, and copied from now on");
  if (!manager.lock) warn("there is no lockfile, so versions may change from build to build; commit one");
  layer.drop();
  run(commands.install(withDev), app, nextAfterInstall(manager));
  if (!isReusable || !existsSync(modules)) return undefined;
  const fresh = openLayer("modules", { cache: true });
  const copy = join(fresh.path, "node_modules");
  return fresh.keep({ key, ...fill({ from: modules, to: copy, kept: copy, copied }), "in-place": true });
}

/** Makes one tree of the other. Returns what the next build must know: the digest of what is kept, where both share files. */
function fill({ from, to, kept, copied }) {
  if (!copied) return linkTree(from, to) ? { tree: digestOfTree(kept) } : {};
  copyTree(from, to);
  return { copied };
}

function nextAfterInstall({ name, lock }) {
  const again = `run ${name} install on your machine`;
  return lock ? `${again}, and push with the ${lock} that it writes` : `${again} to see the same error`;
}

/** Runs a command of the package manager. */
export function run({ argv, shown, env }, cwd, next) {
  runStep(argv, { cwd, shown, env: { NODE_ENV: "production", ...userNodeEnv(), ...env }, next });
}

function userNodeEnv() {
  return process.env.NODE_ENV ? { NODE_ENV: process.env.NODE_ENV } : {};
}

/** Files that builds keep for the next one; they are not part of the droplet. */
const buildCaches = [".next/cache", "node_modules/.cache"];

/** Runs a build script of a folder with the caches of the last build. */
export function runBuildScript({ app, commands, build: { folder, description, script } }) {
  const name = folder === "." ? "build-cache" : `build-cache-${folder.replaceAll(/[^\w-]+/g, "-")}`;
  const layer = openLayer(name, { cache: true });
  const root = join(app, folder);
  for (const path of buildCaches)
    if (existsSync(join(layer.path, path))) moveTree(join(layer.path, path), join(root, path));
  const where = folder === "." ? "package.json" : `${folder}/package.json`;
  const { shown, env, ...command } = commands.run(script);
  const shownThere = folder === "." ? shown : `${shown} (in ${folder})`;
  const settings = { ...env, ...adapterSettings(description) };
  run(
    { ...command, shown: shownThere, env: settings },
    root,
    `run the script "${script}" of ${where} on your machine to see the same error`,
  );
  const written = buildCaches.filter((path) => existsSync(join(root, path)));
  for (const path of written) moveTree(join(root, path), join(layer.path, path));
  if (written.length > 0) layer.keep();
  else layer.drop();
}
