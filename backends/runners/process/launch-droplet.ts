// Everything between an LRP or TaskRun and the command to spawn: its droplet is unpacked, its environment complete.
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { dropletPaths } from "../../host/droplet-metadata.ts";
import { LaunchRefused } from "../../host/launch-refused.ts";
import type { LaunchSpec } from "../../host/prepare-launch.ts";
import { instanceEnvironment, type InstanceEnvironmentOptions } from "./instance-environment.ts";
import type { RunnerContext, Workload } from "./runner-context.ts";

/** A program of a droplet. Without `command` it is the droplet's own of that type. */
export interface Program {
  processType: string;
  command?: string | undefined;
  signal: AbortSignal;
  /** Where files of bound services are placed. */
  filesFolder: string;
  instance: Omit<InstanceEnvironmentOptions, "env" | "home" | "appDir" | "path">;
}

/** @throws LaunchRefused when the droplet can never run here; any other error may pass */
export async function launchDroplet(
  context: Pick<RunnerContext, "launcher" | "resolveEnv" | "spoiled">,
  workload: Workload & { spec: Pick<LRP["spec"], "droplet" | "space"> },
  { processType, command, signal, filesFolder, instance }: Program,
): Promise<LaunchSpec> {
  const { droplet, space } = workload.spec;
  if (droplet.kind !== "host")
    throw new LaunchRefused(
      `runner process runs apps built from source, not images (${droplet.kind}): push the app's source, or choose a runner that takes images`,
    );
  if (!droplet.content || !droplet.root)
    throw new LaunchRefused("the droplet names no content and root, which a host droplet needs: restage the app");
  const { root, content } = droplet;
  await context.spoiled.restore(context.launcher, { space: space.guid, digest: content.digest, root });
  const appDir = dropletPaths.app(root);
  const env = instanceEnvironment({
    ...instance,
    env: await context.resolveEnv(workload, filesFolder),
    home: appDir,
    appDir,
    path: context.launcher.path,
  });
  return context.launcher.prepare({
    root,
    processType,
    env,
    signal,
    ...(command !== undefined && { command }),
  });
}
