// The commands about what the platform generates for an app.
import { Option, type Command } from "commander";
import { withContext } from "../action.ts";
import type { Context } from "../context.ts";
import { example } from "../help.ts";
import type { Result } from "../output.ts";
import type { AdjustOptions } from "../workload/adjust.ts";
import type { WorkloadOptions } from "../workload/show.ts";
import type { KubeClient } from "../../kube/client/client.ts";

/** Runs an action that calls both APIs. */
function withBoth<Args extends unknown[]>(
  action: (kube: KubeClient, context: Context, ...args: Args) => Promise<Result>,
) {
  return withContext(async (context, ...args: Args) => {
    const { withCluster } = await import("../policy/cluster.ts");
    return withCluster((kube) => action(kube, context, ...args));
  });
}

export function addWorkloads(program: Command): void {
  program
    .command("workload <app>")
    .description("show what is generated for an app: its LRPs, what the runner applies, and what is in the cluster")
    .addHelpText("after", example("cup workload shop", "cup workload shop -o yaml | kubectl diff -f -"))
    .addOption(new Option("-o, --output <format>", "yaml: the objects that the runner applies").choices(["yaml"]))
    .action(
      withBoth(async (kube, context, name: string, options: WorkloadOptions) =>
        (await import("../workload/show.ts")).showWorkload(kube, context, { name, options }),
      ),
    );
  for (const [verb, description] of [
    ["detach", "hand what runs of an app over to you: Cupola changes and ends none of it; no instance is replaced"],
    ["attach", "take a detached app back; says first whether instances are replaced"],
  ] as const)
    program
      .command(`${verb} <app>`)
      .description(description)
      .addHelpText("after", example(`cup ${verb} shop`))
      .action(
        withBoth(async (kube, context, name: string) =>
          (await import("../workload/detach.ts"))[verb](kube, context, name),
        ),
      );
  program
    .command("adjust <app>")
    .description("patch the pods of an app, within what the operator allows; acts at the next start")
    .addHelpText("after", example("cup adjust shop -f patch.yaml --now", "cup adjust shop --process worker --remove"))
    .option("-f, --file <path>", "metadata and spec of a pod template, as YAML; - for stdin")
    .option("--process <type>", "process type", "web")
    .option("--remove", "remove the patch")
    .option("--now", "replace the instances at once, without a gap")
    .action(
      withBoth(async (kube, context, name: string, options: AdjustOptions) =>
        (await import("../workload/adjust.ts")).adjust(kube, context, { name, options }),
      ),
    );
}
