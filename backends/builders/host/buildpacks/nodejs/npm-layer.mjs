// A layer that holds one package of the npm registry: a tool of a version.
import { existsSync } from "node:fs";
import { runStep } from "../shared/tools.mjs";
import { npmCommand } from "./node-version.mjs";

/** Installs `wanted` (`name@version`) into the layer, unless it is there already with `file`, and keeps the layer under that name. */
export function installIntoLayer(layer, { wanted, file }) {
  if (!layer.isFor(wanted) || !existsSync(file)) {
    layer.clear();
    runStep([...npmCommand(), "install", "--prefix", layer.path, "--no-save", "--no-audit", "--no-fund", wanted], {
      cwd: layer.path,
      shown: `npm install ${wanted}`,
      next: "correct packageManager in package.json, or see whether the npm registry can be reached",
    });
  }
  layer.keep({ key: wanted });
}
