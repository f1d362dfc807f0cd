// Reads and writes a host droplet's `<root>/layers/config/metadata.toml`, as in the CNB platform specification.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parse, stringify } from "smol-toml";
import { z } from "zod";

/** A process that a droplet can start. A `direct` one is executed as it is; any other runs through a shell. */
export interface ProcessDefinition {
  type: string;
  command: string[];
  args: string[];
  direct: boolean;
  workingDirectory?: string;
}

/** A buildpack that took part in the build, in the order of the build. */
export interface UsedBuildpack {
  id: string;
  version: string;
  api: string;
}

export interface DropletMetadata {
  buildpacks: UsedBuildpack[];
  processes: ProcessDefinition[];
  defaultProcess?: string;
  labels: Record<string, string>;
}

const metadataFile = z.object({
  "buildpack-default-process-type": z.string().optional(),
  buildpacks: z.array(z.object({ id: z.string(), version: z.string(), api: z.string() })).default([]),
  processes: z
    .array(
      z.object({
        type: z.string(),
        command: z.array(z.string()),
        args: z.array(z.string()).default([]),
        direct: z.boolean().default(true),
        "working-dir": z.string().optional(),
      }),
    )
    .default([]),
  labels: z.array(z.object({ key: z.string(), value: z.string() })).default([]),
});

/** Paths of app, layers and metadata inside a droplet's root. */
export const dropletPaths = {
  app: (root: string): string => join(root, "app"),
  layers: (root: string): string => join(root, "layers"),
  metadata: (root: string): string => join(root, "layers", "config", "metadata.toml"),
};

/** A buildpack's id as a directory name. */
export function escapeId(id: string): string {
  return id.replaceAll("/", "_");
}

export async function writeMetadata(root: string, metadata: DropletMetadata): Promise<void> {
  const path = dropletPaths.metadata(root);
  await mkdir(dirname(path), { recursive: true });
  const file: z.input<typeof metadataFile> = {
    buildpacks: metadata.buildpacks,
    processes: metadata.processes.map(({ workingDirectory, ...rest }) => ({
      ...rest,
      ...(workingDirectory && { "working-dir": workingDirectory }),
    })),
    labels: Object.entries(metadata.labels).map(([key, value]) => ({ key, value })),
  };
  if (metadata.defaultProcess) file["buildpack-default-process-type"] = metadata.defaultProcess;
  await writeFile(path, stringify(file));
}

/** @throws Error when the droplet has no metadata, or malformed metadata */
export async function readMetadata(root: string): Promise<DropletMetadata> {
  const path = dropletPaths.metadata(root);
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new Error(`the droplet at ${root} has no layers/config/metadata.toml`, { cause });
  });
  const parsed = metadataFile.safeParse(parse(text));
  if (!parsed.success)
    throw new Error(
      `the droplet's metadata.toml does not follow the CNB specification: ${z.prettifyError(parsed.error)}`,
    );
  const { data } = parsed;
  return {
    buildpacks: data.buildpacks,
    processes: data.processes.map(({ "working-dir": workingDirectory, ...rest }) => ({
      ...rest,
      ...(workingDirectory && { workingDirectory }),
    })),
    ...(data["buildpack-default-process-type"] && { defaultProcess: data["buildpack-default-process-type"] }),
    labels: Object.fromEntries(data.labels.map(({ key, value }) => [key, value])),
  };
}

/** A process's start command as CF shows it: one line that means the same command to a shell. */
export function toStartCommand(process: ProcessDefinition): string {
  const argv = [...process.command, ...process.args];
  const [shell, flag, script, ...rest] = argv;
  // A command for a shell is shown as a person would type it.
  if (shell && /^(.*\/)?(ba)?sh$/.test(shell) && flag === "-c" && script !== undefined && rest.length === 0)
    return script;
  if (!process.direct && argv.length === 1) return argv[0] ?? "";
  return argv.map(quote).join(" ");
}

/** The value of `Droplet.spec.processTypes`: start commands by process type. */
export function toProcessTypes(metadata: DropletMetadata): Record<string, string> {
  const types = Object.fromEntries(metadata.processes.map((process) => [process.type, toStartCommand(process)]));
  const standard = metadata.processes.find((process) => process.type === metadata.defaultProcess);
  // CF always starts "web"; without one it means the droplet's default process.
  if (standard && types["web"] === undefined) types["web"] = toStartCommand(standard);
  return types;
}

function quote(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
