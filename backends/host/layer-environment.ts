// Applies buildpack layers to an environment, as the CNB specification says: layer paths, and the files in env, env.build and env.launch.
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Environment } from "./host-environment.ts";

/** An environment file: the variable (its name up to the first dot), the action (the suffix), and its verbatim content. */
export interface EnvironmentFile {
  name: string;
  action: "override" | "default" | "append" | "prepend" | "delim";
  content: string;
}

/** Subdirectories of a layer that are prepended to variables. */
const layerPaths: Record<"build" | "launch", readonly (readonly [directory: string, variable: string])[]> = {
  build: [
    ["bin", "PATH"],
    ["lib", "LD_LIBRARY_PATH"],
    ["lib", "LIBRARY_PATH"],
    ["include", "CPATH"],
    ["pkgconfig", "PKG_CONFIG_PATH"],
  ],
  launch: [
    ["bin", "PATH"],
    ["lib", "LD_LIBRARY_PATH"],
  ],
};

/** Variables that hold lists of directories: a user's value is prepended and does not replace them. */
export const pathVariables: ReadonlySet<string> = new Set([
  "PATH",
  "LD_LIBRARY_PATH",
  "LIBRARY_PATH",
  "CPATH",
  "PKG_CONFIG_PATH",
]);

/** `A.append` → variable A, action append. Undefined for an unknown suffix. */
export function parseFileName(fileName: string): Pick<EnvironmentFile, "name" | "action"> | undefined {
  const dot = fileName.indexOf(".");
  if (dot < 0) return { name: fileName, action: "override" };
  const action = fileName.slice(dot + 1);
  const known = (["override", "default", "append", "prepend", "delim"] as const).find((one) => one === action);
  return known && dot > 0 ? { name: fileName.slice(0, dot), action: known } : undefined;
}

/** "" for a variable that is not set, also when every object inherits a property of its name. */
function valueOf(environment: Environment, name: string): string {
  return (Object.hasOwn(environment, name) && environment[name]) || "";
}

/** Applies one layer's files: directories in the order env, env.build or env.launch, env.launch/<process>. Returns a new environment. */
export function applyFiles(
  environment: Environment,
  directories: readonly (readonly EnvironmentFile[])[],
): Environment {
  const result = { ...environment };
  const delimiters = new Map(
    directories
      .flat()
      .filter((file) => file.action === "delim")
      .map((file) => [file.name, file.content]),
  );
  // The default in env/ wins over others of its layer: it comes first, and later ones find the variable set.
  for (const file of directories.flat()) {
    const before = valueOf(result, file.name);
    const delimiter = before === "" ? "" : (delimiters.get(file.name) ?? "");
    if (file.action === "override") result[file.name] = file.content;
    if (file.action === "default" && before === "") result[file.name] = file.content;
    if (file.action === "append") result[file.name] = before + delimiter + file.content;
    if (file.action === "prepend") result[file.name] = file.content + delimiter + before;
  }
  return result;
}

/** The layers of one buildpack (absolute directories) and the phase. `process` adds env.launch/<process>. */
export interface LayerSet {
  layers: readonly string[];
  phase: "build" | "launch";
  process?: string;
}

/** The environment after one buildpack's layers. Call it for each buildpack, in the order of the group. */
export async function addLayers(environment: Environment, set: LayerSet): Promise<Environment> {
  const layers = [...set.layers].sort();
  let result = { ...environment };
  for (const [directory, variable] of layerPaths[set.phase]) {
    const paths = [];
    for (const layer of layers) if (await isDirectory(join(layer, directory))) paths.push(join(layer, directory));
    if (paths.length > 0) result[variable] = [...paths, ...(result[variable] ? [result[variable]] : [])].join(":");
  }
  for (const layer of layers) result = applyFiles(result, await readLayerFiles(layer, set));
  return result;
}

async function readLayerFiles(layer: string, set: LayerSet): Promise<EnvironmentFile[][]> {
  const directories = ["env", `env.${set.phase}`];
  if (set.phase === "launch" && set.process) directories.push(join("env.launch", set.process));
  return Promise.all(directories.map((directory) => readFiles(join(layer, directory))));
}

async function readFiles(directory: string): Promise<EnvironmentFile[]> {
  const files: EnvironmentFile[] = [];
  for (const entry of await listDirectory(directory)) {
    const parsed = entry.isDirectory() ? undefined : parseFileName(entry.name);
    if (parsed) files.push({ ...parsed, content: await readFile(join(directory, entry.name), "utf8") });
  }
  return files;
}

/** Entries sorted by name; none when the directory does not exist. */
export async function listDirectory(directory: string) {
  const entries = await readdir(directory, { withFileTypes: true }).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return [];
    throw error;
  });
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}
