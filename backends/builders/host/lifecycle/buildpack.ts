// Reads and checks the buildpack.toml of a Cloud Native Buildpack's folder.
import { access, constants, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "smol-toml";
import { z } from "zod";
import { StagingFailure } from "../../staging-failure.ts";

/** The Buildpack APIs that this lifecycle supports. */
export const supportedApis: readonly string[] = ["0.8", "0.9", "0.10", "0.11", "0.12"];

/** An entry of an order's group. */
export interface GroupEntry {
  id: string;
  version?: string;
  optional: boolean;
}

export interface Target {
  os?: string;
  arch?: string;
  distros?: { name?: string; version?: string }[];
}

/** A buildpack's folder and its description. With `order` it is a composite, without executables. */
export interface Buildpack {
  directory: string;
  api: string;
  id: string;
  version: string;
  name: string;
  clearEnv: boolean;
  targets: Target[];
  order?: GroupEntry[][];
}

const execEnvs = z.array(z.string()).optional();
const descriptor = z.object({
  api: z.string(),
  buildpack: z.object({
    id: z.string().regex(/^[A-Za-z0-9./-]+$/),
    version: z.string(),
    name: z.string().optional(),
    "clear-env": z.boolean().default(false),
    "exec-env": z.array(z.object({ name: z.string() })).optional(),
  }),
  order: z
    .array(
      z.object({
        group: z.array(
          z.object({
            id: z.string(),
            version: z.string().optional(),
            optional: z.boolean().default(false),
            "exec-env": execEnvs,
          }),
        ),
      }),
    )
    .optional(),
  targets: z
    .array(
      z.object({
        os: z.string().optional(),
        arch: z.string().optional(),
        distros: z.array(z.object({ name: z.string().optional(), version: z.string().optional() })).optional(),
      }),
    )
    .default([]),
  stacks: z.array(z.object({ id: z.string() })).default([]),
});

const reservedIds = new Set(["app", "config", "generated", "sbom", "launcher"]);

/** Reads the buildpack in `directory`. @throws StagingFailure that says what is wrong with the folder */
export async function loadBuildpack(directory: string): Promise<Buildpack> {
  const file = await readDescriptor(directory);
  const { buildpack } = file;
  const problem = await findProblem(directory, file);
  if (problem) throw new StagingFailure("StagingError", `the buildpack ${buildpack.id} in ${directory} ${problem}`);
  // A buildpack without targets is for Linux; before API 0.10 stacks had the role of targets.
  const targets =
    file.targets.length > 0 || file.stacks.some((stack) => stack.id === "*") || file.order
      ? file.targets
      : [{ os: "linux" }];
  return {
    directory,
    api: file.api,
    id: buildpack.id,
    version: buildpack.version,
    name: buildpack.name ?? buildpack.id,
    clearEnv: buildpack["clear-env"],
    targets,
    ...(file.order && { order: file.order.map((one) => one.group.filter((entry) => inProduction(entry["exec-env"]))) }),
  };
}

async function findProblem(directory: string, file: z.output<typeof descriptor>): Promise<string | undefined> {
  if (!supportedApis.includes(file.api))
    return `needs Buildpack API ${file.api}; this builder speaks ${supportedApis.join(", ")}`;
  if (reservedIds.has(file.buildpack.id)) return "has a reserved id";
  if (file.order) return undefined;
  for (const name of ["detect", "build"])
    if (!(await isExecutable(join(directory, "bin", name)))) return `has no executable bin/${name}`;
  return undefined;
}

async function readDescriptor(directory: string): Promise<z.output<typeof descriptor>> {
  const path = join(directory, "buildpack.toml");
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new StagingFailure(
      "NoBuildpacksFound",
      `there is no buildpack in ${directory}: buildpack.toml cannot be read`,
      { cause },
    );
  });
  try {
    return descriptor.parse(parse(text));
  } catch (cause) {
    const reason = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause);
    throw new StagingFailure("StagingError", `${path} is not as the Buildpack specification has it: ${reason}`, {
      cause,
    });
  }
}

/** Whether an entry restricted to these execution environments applies. Apps here always run in production. */
export function inProduction(environments: readonly string[] | undefined): boolean {
  return (
    environments === undefined ||
    environments.length === 0 ||
    environments.includes("production") ||
    environments.includes("*")
  );
}

/** The system on which apps are built and run. */
export interface Machine {
  os: string;
  arch: string;
  distro?: { name: string; version: string };
}

/** Whether a target of the buildpack fits; without targets it fits every machine. */
export function fitsMachine(buildpack: Pick<Buildpack, "targets">, machine: Machine): boolean {
  if (buildpack.targets.length === 0) return true;
  const matches = (wanted: string | undefined, is: string | undefined): boolean =>
    !wanted || wanted === "*" || is === undefined || wanted === is;
  return buildpack.targets.some(
    (target) =>
      matches(target.os, machine.os) &&
      matches(target.arch, machine.arch) &&
      (!target.distros?.length ||
        target.distros.some(
          (distro) => matches(distro.name, machine.distro?.name) && matches(distro.version, machine.distro?.version),
        )),
  );
}

/** This machine, in the terms of OCI images. */
export async function thisMachine(): Promise<Machine> {
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const release = process.platform === "linux" ? await readFile("/etc/os-release", "utf8").catch(() => "") : "";
  const field = (name: string): string | undefined => new RegExp(`^${name}="?([^"\n]*)"?$`, "m").exec(release)?.[1];
  const name = field("ID");
  return { os: process.platform, arch, ...(name && { distro: { name, version: field("VERSION_ID") ?? "" } }) };
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
