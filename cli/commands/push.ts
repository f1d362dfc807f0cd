// The commands that take an app's source.
import type { Command } from "commander";
import { withContext } from "../action.ts";
import { example } from "../help.ts";
import type { PushOptions } from "../push/options.ts";
import { toCount } from "./numbers.ts";
import { addStrategyOptions } from "./rollouts.ts";

function addPushOptions(command: Command): Command {
  const collect = (value: string, before: string[] = []): string[] => [...before, value];
  return command
    .option("-f, --manifest <file>", "manifest (default: manifest.yml of this folder, if there is one)")
    .option("--no-manifest", "ignore manifest.yml")
    .option("-p, --path <dir>", "folder or zip of the source")
    .option("-b, --buildpack <name>", "buildpack; may be given several times", collect)
    .option("-c, --command <command>", "start command")
    .option("-i, --instances <n>", "number of instances", toCount)
    .option("-m, --memory <size>", "memory per instance, such as 256M or 1G")
    .option("-k, --disk <size>", "disk per instance")
    .option("-u, --health-check-type <type>", "port, http or process")
    .option("--endpoint <path>", "path of the http health check")
    .option("-t, --app-start-timeout <seconds>", "time an instance may take to start", toCount)
    .option("-s, --stack <name>", "stack")
    .option("-o, --docker-image <image>", "run this image")
    .option("--no-route", "create no route")
    .option("--random-route", "create a route with a random host")
    .option("--var <name=value>", "value of a ((variable)); may be given several times", collect)
    .option("--vars-file <file>", "YAML file of variables; may be given several times", collect);
}

/** From source to running instances. */
export function addPush(program: Command): void {
  addStrategyOptions(
    addPushOptions(
      program
        .command("push [app]")
        .description("build and start an app from this folder")
        .addHelpText(
          "after",
          example(
            "cup push shop",
            "cup push shop --path ~/shop --memory 256M",
            "cup push --vars-file test.yml",
            "cup push shop --strategy rolling",
          ),
        ),
    ),
  )
    .option("--no-start", "do not start it")
    .action(
      withContext(async (context, app: string | undefined, options: PushOptions) => {
        context.prefetchSpace(); // while the rest is loaded
        return (await import("../push/push.ts")).push(context, app, options);
      }),
    );
  addDev(program);
  addPushOptions(
    program
      .command("render [app]")
      .description("print the objects that a push would write, as YAML")
      .addHelpText("after", example("cup render | kubectl apply --server-side -f -")),
  ).action(
    withContext(async (context, app: string | undefined, options: PushOptions) =>
      (await import("../push/render.ts")).renderCommand(context, app, options),
    ),
  );
}

function addDev(program: Command): void {
  addPushOptions(
    program
      .command("dev [app]")
      .description("push an app, then whatever you save, until Ctrl-C")
      .addHelpText("after", example("cup dev shop", "cup dev shop --path ~/shop")),
  ).action(
    withContext(async (context, app: string | undefined, options: PushOptions) =>
      (await import("../push/dev.ts")).dev(context, app, options),
    ),
  );
}
