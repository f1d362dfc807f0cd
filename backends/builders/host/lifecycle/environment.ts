// The environment of bin/detect and bin/build: a clean base, the user's variables, and those of the specification.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Environment } from "../../../host/host-environment.ts";
import { pathVariables } from "../../../host/layer-environment.ts";
import type { Buildpack, Machine } from "./buildpack.ts";

/** The directories and variables of one build. All paths are absolute. */
export interface Workspace {
  /** The droplet's root; the app is in `<root>/app`. */
  root: string;
  /** CNB_PLATFORM_DIR. */
  platform: string;
  /** The lifecycle's own files: plans, HOME, TMPDIR. */
  work: string;
  machine: Machine;
  stack: string;
  /** The clean base environment. */
  base: Environment;
  /** The user's variables, as CF passes them to staging. */
  user: Environment;
}

/** Makes HOME, TMPDIR, and the platform directory with the user's variables as files. */
export async function makeWorkspace(workspace: Workspace): Promise<void> {
  const directory = join(workspace.platform, "env");
  for (const path of [directory, join(workspace.work, "home"), join(workspace.work, "tmp")])
    await mkdir(path, { recursive: true, mode: 0o700 });
  for (const [name, value] of Object.entries(workspace.user)) {
    // A name that is no valid file name is no variable that a program could read, either.
    if (/^[^/\0.][^/\0]{0,254}$/.test(name)) await writeFile(join(directory, name), value);
  }
}

/** `fromLayers` is the base environment with the changes of earlier buildpacks; `own` are the variables of this call. */
export function buildpackEnvironment(
  workspace: Workspace,
  buildpack: Buildpack,
  fromLayers: Environment,
  own: Environment,
): Environment {
  const { machine } = workspace;
  return {
    ...(buildpack.clearEnv ? fromLayers : withUser(fromLayers, workspace.user)),
    HOME: join(workspace.work, "home"),
    TMPDIR: join(workspace.work, "tmp"),
    CNB_EXEC_ENV: "production",
    CNB_STACK_ID: workspace.stack,
    CNB_TARGET_OS: machine.os,
    CNB_TARGET_ARCH: machine.arch,
    ...(machine.distro && {
      CNB_TARGET_DISTRO_NAME: machine.distro.name,
      CNB_TARGET_DISTRO_VERSION: machine.distro.version,
    }),
    CNB_PLATFORM_DIR: workspace.platform,
    CNB_BUILDPACK_DIR: buildpack.directory,
    ...own,
  };
}

/** The user's value wins; for a list of directories it is only prepended. */
function withUser(environment: Environment, user: Environment): Environment {
  const result = { ...environment };
  for (const [name, value] of Object.entries(user)) {
    if (name.startsWith("CNB_")) continue;
    const before = result[name];
    result[name] = pathVariables.has(name) && before ? `${value}:${before}` : value;
  }
  return result;
}
