// The commands about apps that are there.
import type { Command } from "commander";
import { withContext } from "../action.ts";
import { example } from "../help.ts";
import type { EventsOptions } from "../app/events.ts";
import type { ScaleOptions } from "../app/scale.ts";
import type { DeleteOptions } from "../app/delete.ts";
import { toCount } from "./numbers.ts";

/** Apps as they run. */
export function addApps(program: Command): void {
  program
    .command("apps")
    .description("list apps")
    .addHelpText("after", example("cup apps", "cup apps --json"))
    .action(withContext(async (context) => (await import("../app/list.ts")).listApps(context)));
  program
    .command("app <app>")
    .description("show an app and its instances")
    .addHelpText("after", example("cup app shop"))
    .action(withContext(async (context, name: string) => (await import("../app/show.ts")).showApp(context, name)));
  program
    .command("open <app>")
    .description("open an app in the browser")
    .addHelpText("after", example("cup open shop"))
    .action(withContext(async (context, name: string) => (await import("../app/open.ts")).openApp(context, name)));
  program
    .command("logs <app>")
    .description("follow an app's log")
    .addHelpText("after", example("cup logs shop", "cup logs shop --recent"))
    .option("--recent", "print the recent lines and end")
    .action(
      withContext(async (context, name: string, options: { recent?: boolean }) =>
        (await import("../app/logs.ts")).logs(context, name, options),
      ),
    );
}

/** Commands that show what happened to apps. */
export function addEvents(program: Command): void {
  program
    .command("events [app]")
    .description("list who changed an app, or the targeted space, and crashes; newest first")
    .addHelpText("after", example("cup events shop", "cup events --limit 10", "cup events shop --json"))
    .option("-n, --limit <n>", "number of events", toCount, 50)
    .action(
      withContext(async (context, name: string | undefined, options: EventsOptions) =>
        (await import("../app/events.ts")).showEvents(context, name, options),
      ),
    );
}

/** The variables of an app. */
export function addEnvironment(program: Command): void {
  program
    .command("env <app>")
    .description("show an app's environment")
    .addHelpText("after", example("cup env shop"))
    .action(withContext(async (context, name: string) => (await import("../app/env.ts")).showEnv(context, name)));
  program
    .command("set-env <app> <name> <value>")
    .description("set a variable; takes effect at the next start")
    .addHelpText("after", example("cup set-env shop GREETING hello && cup restart shop"))
    .action(
      withContext(async (context, app: string, name: string, value: string) =>
        (await import("../app/env.ts")).setEnv(context, app, { [name]: value }),
      ),
    );
  program
    .command("unset-env <app> <name>")
    .description("remove a variable")
    .addHelpText("after", example("cup unset-env shop GREETING"))
    .action(
      withContext(async (context, app: string, name: string) =>
        (await import("../app/env.ts")).setEnv(context, app, { [name]: null }),
      ),
    );
}

/** Commands that change an app. */
export function addAppVerbs(program: Command): void {
  for (const verb of ["start", "stop", "restart"] as const) {
    program
      .command(`${verb} <app>`)
      .description(`${verb} an app`)
      .addHelpText("after", example(`cup ${verb} shop`))
      .action(
        withContext(async (context, name: string) => (await import("../app/verbs.ts")).runVerb(context, verb, name)),
      );
  }
  program
    .command("restage <app>")
    .description("build the newest package again and restart")
    .addHelpText("after", example("cup restage shop"))
    .action(withContext(async (context, name: string) => (await import("../app/restage.ts")).restage(context, name)));
  program
    .command("scale <app>")
    .description("change number or size of instances")
    .addHelpText("after", example("cup scale shop --instances 3", "cup scale shop --memory 512M"))
    .option("-i, --instances <n>", "number of instances", toCount)
    .option("-m, --memory <size>", "memory per instance; restarts the app")
    .option("-k, --disk <size>", "disk per instance; restarts the app")
    .option("--process <type>", "process type", "web")
    .action(
      withContext(async (context, name: string, options: ScaleOptions) =>
        (await import("../app/scale.ts")).scale(context, name, options),
      ),
    );
  program
    .command("delete <app>")
    .description("delete an app")
    .addHelpText("after", example("cup delete shop", "cup delete shop --routes --force"))
    .option("-r, --routes", "delete its routes, too")
    .option("-f, --force", "do not ask")
    .action(
      withContext(async (context, name: string, options: DeleteOptions) =>
        (await import("../app/delete.ts")).deleteApp(context, name, options),
      ),
    );
}
