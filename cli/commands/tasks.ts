// The commands about an app's tasks.
import type { Command } from "commander";
import { withContext } from "../action.ts";
import { example } from "../help.ts";
import type { RunOptions } from "../task/run.ts";
import { toCount } from "./numbers.ts";

export function addTasks(program: Command): void {
  program
    .command("run <app> [command...]")
    .description("run a command in the app's droplet, as a task, print its output and end with its exit status")
    .option("-n, --name <name>", "name of the task")
    .option("-m, --memory <size>", "memory, such as 256M or 1G")
    .option("-k, --disk <size>", "disk")
    .option("--process <type>", "process type whose command and sizes are taken where none are given")
    .option("-d, --detach", "return at once, and leave it running")
    .addHelpText(
      "after",
      example(
        "cup run shop -- ls -l",
        "cup run shop --name migrate -- rake db:migrate",
        "cup run shop -- 'cd data && ls *.csv'    # one word: a line for a shell",
      ),
    )
    .action(
      withContext(async (context, app: string, words: string[], options: RunOptions) =>
        (await import("../task/run.ts")).runTask(context, app, words, options),
      ),
    );
  program
    .command("tasks <app>")
    .description("list an app's tasks, newest first")
    .addHelpText("after", example("cup tasks shop"))
    .action(withContext(async (context, app: string) => (await import("../task/list.ts")).listTasks(context, app)));
  program
    .command("cancel-task <app>")
    .argument("<id>", "number of the task", toCount)
    .description("end a task")
    .addHelpText("after", example("cup cancel-task shop 3"))
    .action(
      withContext(async (context, app: string, id: number) =>
        (await import("../task/list.ts")).cancelTask(context, app, id),
      ),
    );
}
