// The commands about rollouts: CF's deployments.
import { Option, type Command } from "commander";
import { withContext } from "../action.ts";
import { example } from "../help.ts";
import type { DeployOptions } from "../rollout/deployment.ts";
import { toCount, toPercentages } from "./numbers.ts";

const STRATEGIES = ["rolling", "canary"] as const;

/** How instances are replaced; also for `cup push`. */
export function addStrategyOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--strategy <name>", "replace instances without a gap; canary pauses on the way").choices(STRATEGIES),
    )
    .option("--max-in-flight <n>", "new instances that may start at once", toCount)
    .option("--steps <percents>", "steps of a canary, such as 10,50", toPercentages);
}

export function addRollouts(program: Command): void {
  const rollout = program.command("rollout").description("replace an app's instances without a gap");
  addStrategyOptions(
    rollout.command("start <app>").description("replace the instances, for new variables or an earlier revision"),
  )
    .option("--revision <version>", "return to this revision", toCount)
    .addHelpText(
      "after",
      example(
        "cup rollout start shop",
        "cup rollout start shop --strategy canary --steps 10,50",
        "cup rollout start shop --revision 3",
      ),
    )
    .action(
      withContext(async (context, app: string, options: DeployOptions & { revision?: number }) =>
        (await import("../rollout/verbs.ts")).startRollout(context, app, options),
      ),
    );
  const verbs = [
    ["status", "follow the rollout under way", "showRollout"],
    ["continue", "go on to the next step of a canary", "continueRollout"],
    ["cancel", "return to the version from before", "cancelRollout"],
    ["undo", "cancel the rollout under way, or return to the revision before", "undoRollout"],
  ] as const;
  for (const [name, description, verb] of verbs)
    rollout
      .command(`${name} <app>`)
      .description(description)
      .addHelpText("after", example(`cup rollout ${name} shop`))
      .action(withContext(async (context, app: string) => (await import("../rollout/verbs.ts"))[verb](context, app)));
  program
    .command("revisions <app>")
    .description("list an app's revisions, newest first")
    .addHelpText("after", example("cup revisions shop"))
    .action(
      withContext(async (context, app: string) => (await import("../rollout/verbs.ts")).showRevisions(context, app)),
    );
}
