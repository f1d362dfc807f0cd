// World of chaos on a node: the platform installed by its chart with two replicas of each part, and an app that nobody touches.
import { join } from "node:path";
import { cfOn } from "../../e2e/support/cf.ts";
import { pushHelloImage } from "../../e2e/support/hello-image.ts";
import { startNodePlatform, type NodePlatform } from "../../e2e/support/node-platform.ts";
import { addClients } from "../../e2e/support/start-test-platform.ts";
import type { CommandResult, TestPlatform } from "../../e2e/support/test-platform.ts";
import { eventually } from "../../eventually.ts";

const HELLO = join(import.meta.dirname, "..", "..", "..", "examples", "hello");
const IMAGE = "teams/hello:1";
/** It is the share of the processor, too: with 5 % the app answers its health check in time on a busy machine. */
const MEMORY = "512M";
export const STEADY_APP = "steady";
/** Namespace of the space in which everything happens. */
export const NAMESPACE = "local-dev";

type Cf = (...args: string[]) => Promise<CommandResult>;

export interface NodeWorld {
  installed: NodePlatform;
  stage: TestPlatform;
  /** Programs of the node that were killed and not started again yet. */
  down: Set<string>;
  /** Times, in milliseconds of the epoch, in which Kubernetes itself takes apps out of service. */
  kubeletAway: { from: number; to: number }[];
  /** Logs in and targets the space. @throws Error with the output of cf */
  target(cf: Cf): Promise<void>;
}

/** @param replicas of each part of the platform. @throws Error when the platform or the app does not come up */
export async function startNodeWorld(replicas: number): Promise<NodeWorld> {
  const installed = await startNodePlatform({ replicas });
  const stage = addClients(installed.base, installed.node.kubectl);
  const { registry } = installed.node;
  process.env["CF_DOCKER_PASSWORD"] = registry.password;
  const target = async (cf: Cf): Promise<void> => {
    for (const args of [
      ["api", stage.url],
      ["auth", "admin"],
      ["target", "-o", "local", "-s", "dev"],
    ])
      await succeed(cf, args);
  };
  const world = { installed, stage, target, down: new Set<string>(), kubeletAway: [] };
  try {
    await pushHelloImage(installed, IMAGE, HELLO);
    const cf = cfOn(stage);
    await target(cf);
    await succeed(cf, [...pushArguments(world, STEADY_APP), "-i", "2"]);
    await eventually(async () => {
      const { status } = await stage.get(`${STEADY_APP}.apps.localhost`);
      if (status !== 200) throw new Error(`${STEADY_APP} answers ${status}`);
    }, 60_000);
    return world;
  } catch (error) {
    await stage.stop();
    throw error;
  }
}

/** `cf push` of the image. */
export function pushArguments({ installed }: NodeWorld, app: string): string[] {
  const { host, username } = installed.node.registry;
  return ["push", app, "--docker-image", `${host}/${IMAGE}`, "--docker-username", username, "-m", MEMORY];
}

/** @throws Error with the output of cf when it fails */
export async function succeed(cf: Cf, args: string[]): Promise<void> {
  const { code, output } = await cf(...args);
  if (code !== 0) throw new Error(`cf ${args.join(" ")}: ${output.slice(-600)}`);
}
