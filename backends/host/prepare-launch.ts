// The CNB launcher as a function: from an unpacked droplet and a process type to the command to spawn.
import { spawn } from "node:child_process";
import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { parse } from "smol-toml";
import type { Environment } from "./host-environment.ts";
import { singleQuote } from "./single-quote.ts";
import { addLayers, listDirectory } from "./layer-environment.ts";
import {
  type DropletMetadata,
  dropletPaths,
  escapeId,
  type ProcessDefinition,
  readMetadata,
  toStartCommand,
} from "./droplet-metadata.ts";

/** The command to launch. `env` is the whole environment before the droplet's layers add theirs. */
export interface LaunchRequest {
  /** Where the droplet is unpacked. */
  root: string;
  processType: string;
  /** A start command instead of the droplet's; a shell runs it. */
  command?: string;
  env: Environment;
  signal?: AbortSignal;
}

/** The program to spawn: `command[0]` with the rest as arguments, no shell around it. */
export interface LaunchSpec {
  command: string[];
  env: Environment;
  cwd: string;
}

const execTimeoutMs = 60_000;
/** Variables of the lifecycle that are removed from a process's environment. */
const lifecycleVariables = [
  "CNB_LAYERS_DIR",
  "CNB_APP_DIR",
  "CNB_PROCESS_TYPE",
  "CNB_PLATFORM_API",
  "CNB_DEPRECATION_MODE",
];

/** Reads the droplet, applies its layers' environment and runs its exec.d programs. @throws Error with the known process types when none matches */
export async function prepareLaunch(request: LaunchRequest): Promise<LaunchSpec> {
  const metadata = await readMetadata(request.root);
  const process = chooseProcess(metadata, request);
  const app = dropletPaths.app(request.root);
  const layers = await launchLayers(request.root, metadata);
  let env = { ...request.env };
  for (const name of lifecycleVariables) delete env[name];
  for (const set of layers) env = await addLayers(env, { layers: set, phase: "launch", process: process.type });
  env = await runExecD({ layers: layers.flat(), process: process.type, app, signal: request.signal }, env);
  const cwd = resolve(app, process.workingDirectory ?? ".");
  const argv = [...process.command, ...process.args];
  const ownProfiles = await appProfiles(app);
  if (process.direct && ownProfiles.length === 0) return { command: argv, env, cwd };
  const layerProfiles = process.direct
    ? []
    : await listExecutables({ layers: layers.flat(), process: process.type, app }, "profile.d");
  const shell = await findShell();
  return {
    command: shellCommand({ shell, profiles: [...layerProfiles, ...ownProfiles], cwd, direct: process.direct }, argv),
    env,
    cwd: app,
  };
}

function chooseProcess(metadata: DropletMetadata, request: LaunchRequest): ProcessDefinition {
  const named = findProcess(metadata, request.processType);
  if (request.command === undefined || request.command === "") {
    if (named) return { ...named, type: request.processType };
    const known = metadata.processes.map((process) => process.type).join(", ") || "none";
    throw new Error(
      `the droplet has no process type ${request.processType} and no start command is set; its process types: ${known}`,
    );
  }
  // CF returns the droplet's own command as text; it then means exactly that process.
  if (named && toStartCommand(named) === request.command) return { ...named, type: request.processType };
  return { type: request.processType, command: [request.command], args: [], direct: false };
}

function findProcess(metadata: DropletMetadata, type: string): ProcessDefinition | undefined {
  const match = metadata.processes.find((process) => process.type === type);
  return (
    match ??
    (type === "web" ? metadata.processes.find((process) => process.type === metadata.defaultProcess) : undefined)
  );
}

/** The layer directories of each buildpack, in the order of the build. */
async function launchLayers(root: string, metadata: DropletMetadata): Promise<string[][]> {
  return Promise.all(
    metadata.buildpacks.map(async ({ id }) => {
      const directory = join(dropletPaths.layers(root), escapeId(id));
      return (await listDirectory(directory))
        .filter((entry) => entry.isDirectory())
        .map((entry) => join(directory, entry.name));
    }),
  );
}

interface LaunchContext {
  layers: readonly string[];
  process: string;
  app: string;
}

async function listExecutables(context: LaunchContext, directory: string): Promise<string[]> {
  const directories = [directory, join(directory, context.process)].flatMap((place) =>
    context.layers.map((layer) => join(layer, place)),
  );
  const found = await Promise.all(
    directories.map(async (place) =>
      (await listDirectory(place)).filter((entry) => !entry.isDirectory()).map((entry) => join(place, entry.name)),
    ),
  );
  return found.flat();
}

async function runExecD(
  context: LaunchContext & { signal?: AbortSignal | undefined },
  environment: Environment,
): Promise<Environment> {
  let env = environment;
  for (const file of await listExecutables(context, "exec.d")) {
    const output = parse(await runForVariables(file, context.app, env, context.signal));
    env = { ...env, ...Object.fromEntries(Object.entries(output).map(([name, value]) => [name, String(value)])) };
  }
  return env;
}

/** Runs an exec.d program and returns its output on file descriptor 3. */
async function runForVariables(file: string, cwd: string, env: Environment, signal?: AbortSignal): Promise<string> {
  const deadline = AbortSignal.timeout(execTimeoutMs);
  const child = spawn(file, [], {
    cwd,
    env,
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    killSignal: "SIGKILL",
  });
  const exited = new Promise<number | string>((resolve, reject) => {
    child.once("error", (cause) => reject(new Error(`${file} cannot be run`, { cause })));
    child.once("close", (code, how) => resolve(code ?? how ?? "unknown"));
  });
  const [status, variables, errors] = await Promise.all([
    exited,
    text(child.stdio[3] as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
  ]);
  if (status !== 0) throw new Error(`${file} ended with ${status}: ${errors.trim().slice(-500)}`);
  return variables;
}

/** The app's own scripts. Cloud Foundry sources them before every command, also one that needs no shell. */
async function appProfiles(app: string): Promise<string[]> {
  const folder = join(app, ".profile.d");
  const files = (await listDirectory(folder)).filter((entry) => !entry.isDirectory() && !entry.name.startsWith("."));
  const last = join(app, ".profile");
  return [...files.map((entry) => join(folder, entry.name)), ...((await exists(last)) ? [last] : [])];
}

/** Sources the scripts in the app's directory, then becomes the command. */
function shellCommand(
  { shell, profiles, cwd, direct }: { shell: string; profiles: readonly string[]; cwd: string; direct: boolean },
  argv: readonly string[],
): string[] {
  const [command = "", ...args] = argv;
  const script = [
    ...profiles.map((file) => `. ${singleQuote(file)}`),
    `cd ${singleQuote(cwd)}`,
    direct ? `exec "$0" "$@"` : `exec ${singleQuote(shell)} -c "$0" "$@"`,
  ].join("\n");
  return [shell, "-c", script, command, ...(args.length > 0 && !direct ? [shell] : []), ...args];
}

async function findShell(): Promise<string> {
  for (const shell of ["/bin/bash", "/usr/bin/bash"]) if (await exists(shell)) return shell;
  return "/bin/sh";
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
