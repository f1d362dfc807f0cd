// The layers of the running buildpack, and the processes that it declares, in the files of the CNB specification.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "smol-toml";

const shell = existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh";

/**
 * A layer with `types` of launch, build and cache. `saved` is its metadata of the last build, `keep` gives the layer its types and metadata:
 * without it the layer is dropped. The folder may hold the contents of the last build.
 */
export function openLayer(name, types) {
  const path = join(process.env.CNB_LAYERS_DIR, name);
  const saved = existsSync(`${path}.toml`) ? (parse(readFileSync(`${path}.toml`, "utf8")).metadata ?? {}) : {};
  mkdirSync(path, { recursive: true });
  return {
    path,
    saved,
    /** Whether the contents of the last build were made from the same inputs. */
    isFor: (key) => saved.key === key,
    keep: (metadata = {}) => writeFileSync(`${path}.toml`, stringify({ types, metadata })),
    clear() {
      rmSync(path, { recursive: true, force: true });
      mkdirSync(path, { recursive: true });
    },
    drop() {
      rmSync(path, { recursive: true, force: true });
      rmSync(`${path}.toml`, { force: true });
    },
    /** Variables for the start of the app; `PATH.prepend` and its like work as file names. */
    setLaunchVariables(variables) {
      const folder = join(path, "env.launch");
      mkdirSync(folder, { recursive: true });
      for (const [file, value] of Object.entries(variables)) {
        writeFileSync(join(folder, file), value);
        if (/\.(ap|pre)pend$/.test(file)) writeFileSync(join(folder, file.replace(/\.\w+$/, ".delim")), ":");
      }
    },
  };
}

/** The folder of a package manager's cache, which builds use in place. Not for one whose files the manager links into the app. */
export function packageCache(name) {
  const layer = openLayer(name, { cache: true });
  layer.keep({ "in-place": true });
  return layer.path;
}

/** Declares processes by type; a text is run by a shell, a list as it is. `web` is the default, or else the only one. */
export function writeProcesses(commands) {
  const types = Object.keys(commands);
  const processes = types.map((type) => ({
    type,
    command: Array.isArray(commands[type]) ? commands[type] : [shell, "-c", commands[type]],
    default: type === "web" || types.length === 1,
  }));
  writeFileSync(join(process.env.CNB_LAYERS_DIR, "launch.toml"), stringify({ processes }));
}
