// The build phase: runs bin/build of each buildpack in turn, passing on environment, plan and processes.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "smol-toml";
import { z } from "zod";
import type { Environment } from "../../../host/host-environment.ts";
import { addLayers } from "../../../host/layer-environment.ts";
import {
  type DropletMetadata,
  dropletPaths,
  escapeId,
  type ProcessDefinition,
} from "../../../host/droplet-metadata.ts";
import { type Buildpack, inProduction } from "./buildpack.ts";
import { restoreLayers, reuseLayer } from "./cache.ts";
import { type Detected, keyOf } from "./detect.ts";
import { buildpackEnvironment, type Workspace } from "./environment.ts";
import { StagingFailure } from "../../staging-failure.ts";
import { ignoreUntyped, type Layer, readLayers } from "./layers.ts";
import { withoutMet, entriesFor } from "./build-plan.ts";
import { type LineSink, runExecutable } from "./run-executable.ts";
import { findToml } from "./toml-file.ts";

/** The output of one buildpack. */
export interface BuiltLayers {
  id: string;
  directory: string;
  layers: Layer[];
  store?: string;
}

/** The output of all buildpacks. */
export interface BuildResult {
  layers: BuiltLayers[];
  metadata: DropletMetadata;
}

export interface BuildOptions {
  workspace: Workspace;
  detected: Detected;
  /** Directory of the app's cache; it need not exist. */
  cache: string;
  log: LineSink;
}

const processType = z.string().regex(/^[A-Za-z0-9._-]+$/);
const launchFile = z.object({
  labels: z.array(z.object({ key: z.string(), value: z.string() })).default([]),
  processes: z
    .array(
      z.object({
        type: processType,
        // A string before API 0.9.
        command: z.union([z.string().transform((command) => [command]), z.array(z.string()).min(1)]),
        args: z.array(z.string()).default([]),
        direct: z.boolean().optional(),
        default: z.boolean().default(false),
        "working-dir": z.string().optional(),
        "exec-env": z.array(z.string()).optional(),
      }),
    )
    .default([]),
});
const buildFile = z.object({ unmet: z.array(z.object({ name: z.string() })).default([]) });

/** Runs the build phase. @throws StagingFailure BuildpackCompileFailed with the buildpack and its last output */
export async function build(options: BuildOptions): Promise<BuildResult> {
  const { workspace, detected } = options;
  const launches: { buildpack: Buildpack; launch: z.output<typeof launchFile> | undefined }[] = [];
  const layers: BuiltLayers[] = [];
  let { plan } = detected;
  let environment: Environment = workspace.base;
  for (const buildpack of detected.buildpacks) {
    const directory = join(dropletPaths.layers(workspace.root), escapeId(buildpack.id));
    await restoreLayers(options.cache, { id: buildpack.id, directory });
    await runBuild(options, { buildpack, directory, environment, entries: entriesFor(plan, keyOf(buildpack)) });
    const writtenLayers = await readLayers(directory, keyOf(buildpack));
    await ignoreUntyped(directory, writtenLayers);
    for (const layer of writtenLayers)
      if (layer.launch && !layer.present) await reuse(options.cache, { id: buildpack.id, directory }, layer);
    environment = await addLayers(environment, {
      layers: writtenLayers.filter((layer) => layer.build && layer.present).map((layer) => join(directory, layer.name)),
      phase: "build",
    });
    const unmet = (await findToml(join(directory, "build.toml"), buildFile, keyOf(buildpack)))?.unmet ?? [];
    plan = withoutMet(
      plan,
      keyOf(buildpack),
      unmet.map((one) => one.name),
    );
    layers.push({ id: buildpack.id, directory, layers: writtenLayers, ...(await readStore(directory)) });
    launches.push({ buildpack, launch: await findToml(join(directory, "launch.toml"), launchFile, keyOf(buildpack)) });
  }
  return { layers, metadata: toMetadata(launches) };
}

interface BuildStep {
  buildpack: Buildpack;
  directory: string;
  environment: Environment;
  entries: readonly { name: string; metadata: Record<string, unknown> }[];
}

async function runBuild(
  { workspace, log }: BuildOptions,
  { buildpack, directory, environment, entries }: BuildStep,
): Promise<void> {
  const plan = join(workspace.work, "plans", `${escapeId(buildpack.id)}-${buildpack.version}.entries.toml`);
  await mkdir(join(workspace.work, "plans"), { recursive: true });
  await writeFile(plan, stringify({ entries }));
  const result = await runExecutable(join(buildpack.directory, "bin", "build"), {
    args: [directory, workspace.platform, plan],
    cwd: dropletPaths.app(workspace.root),
    env: buildpackEnvironment(workspace, buildpack, environment, {
      CNB_LAYERS_DIR: directory,
      CNB_BP_PLAN_PATH: plan,
      CNB_APP_DIR: dropletPaths.app(workspace.root),
    }),
    log,
  });
  if (result.status === 0) return;
  const outputSuffix = result.lastOutput === "" ? "without a word" : `saying: ${result.lastOutput}`;
  throw new StagingFailure(
    "BuildpackCompileFailed",
    `${buildpack.id} ${buildpack.version} ended with ${result.status}, ${outputSuffix}`,
  );
}

async function reuse(cache: string, target: { id: string; directory: string }, layer: Layer): Promise<void> {
  await reuseLayer(cache, target, layer.name);
  layer.present = true;
}

async function readStore(directory: string): Promise<{ store?: string }> {
  const store = await readFile(join(directory, "store.toml"), "utf8").catch(() => undefined);
  return store === undefined ? {} : { store };
}

type Launch = { buildpack: Buildpack; launch: z.output<typeof launchFile> | undefined };

/** Processes and labels of later buildpacks replace earlier ones of the same name; the last default wins. */
function toMetadata(launches: readonly Launch[]): DropletMetadata {
  const processes = new Map<string, ProcessDefinition>();
  let defaultProcess: string | undefined;
  for (const { process, isDefault } of launches.flatMap(toProcesses)) {
    processes.set(process.type, process);
    if (isDefault) defaultProcess = process.type;
    else if (defaultProcess === process.type) defaultProcess = undefined;
  }
  const labels = launches
    .flatMap(({ launch }) => launch?.labels ?? [])
    .map(({ key, value }): [string, string] => [key, value]);
  const buildpacks = launches.map(({ buildpack: { id, version, api } }) => ({ id, version, api }));
  return {
    buildpacks,
    processes: [...processes.values()],
    labels: Object.fromEntries(labels),
    ...(defaultProcess && { defaultProcess }),
  };
}

function toProcesses({ buildpack, launch }: Launch): { process: ProcessDefinition; isDefault: boolean }[] {
  return (launch?.processes ?? [])
    .filter((process) => inProduction(process["exec-env"]))
    .map(({ type, command, args, direct, default: isDefault, "working-dir": workingDirectory }) => {
      // Before API 0.9 `direct` decided whether a process is run through a shell; since then none is.
      const process = { type, command, args, direct: buildpack.api === "0.8" ? (direct ?? false) : true };
      return { process: workingDirectory ? { ...process, workingDirectory } : process, isDefault };
    });
}
