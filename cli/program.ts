// All commands of `cup`: what each is called, what it takes, where it lives. Each action is loaded when it is called, so that `cup` starts quickly.
import { Command, InvalidArgumentError, Option } from "commander";
import { withContext, withoutContext } from "./action.ts";
import { EXIT_CODES } from "./failure.ts";
import type { LoginOptions } from "./target/login.ts";
import type { PushOptions } from "./push/options.ts";
import type { RouteOptions } from "./route/route.ts";
import type { ScaleOptions } from "./app/scale.ts";
import type { StartOptions } from "./local/start.ts";

/** Builds the command tree. */
export function buildProgram(): Command {
  const program = new Command("cup")
    .description("Cupola's own command line: a Cloud Foundry on Kubernetes, from your laptop to many clusters.")
    .option("--json", "print the result as JSON")
    .showHelpAfterError()
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_CODES.usage));
  addLocal(program);
  addTarget(program);
  addPush(program);
  addApps(program);
  addEnvironment(program);
  addAppVerbs(program);
  addRoutes(program);
  addOrgs(program);
  return program;
}

function addLocal(program: Command): void {
  const local = program.command("local").description("Cupola on this machine");
  const home = (): Option => new Option("--home <dir>", "where all state is (default: CUPOLA_HOME, else ~/.cupola)");
  local
    .command("start")
    .description("start Cupola here and, the first time, push an example app")
    .addOption(home())
    .option("--port <n>", "port of the CF API and the apps", toPort, 8080)
    .option("--kube-port <n>", "port of the Kubernetes API", toPort, 6443)
    .option("--empty", "push no example app")
    .option("--detach", "return when it is ready, and leave it running")
    .action(
      withoutContext(async (progress, options: StartOptions) =>
        (await import("./local/start.ts")).localStart(progress, options),
      ),
    );
  local
    .command("stop")
    .description("stop Cupola and its apps")
    .addOption(home())
    .action(
      withoutContext(async (progress, options: { home?: string }) =>
        (await import("./local/stop.ts")).localStop(progress, options),
      ),
    );
  local
    .command("status")
    .description("show whether Cupola runs, and where")
    .addOption(home())
    .action(
      withoutContext(async (_progress, options: { home?: string }) =>
        (await import("./local/status.ts")).localStatus(options),
      ),
    );
}

function addTarget(program: Command): void {
  program
    .command("login")
    .description("choose an API and a user of your kubeconfig")
    .option("-a, --api <url>", "the CF API")
    .option("-u, --user <name>", "user (context) of the kubeconfig")
    .option("--kubeconfig <file>", "kubeconfig to take credentials from")
    .option("-o, --org <name>")
    .option("-s, --space <name>")
    .action(
      withoutContext(async (progress, options: LoginOptions) =>
        (await import("./target/login.ts")).login(progress, options),
      ),
    );
  program
    .command("target")
    .description("show, or set, org and space")
    .option("-o, --org <name>")
    .option("-s, --space <name>")
    .action(
      withContext(async (context, options: { org?: string; space?: string }) =>
        (await import("./target/target.ts")).target(context, options),
      ),
    );
  program
    .command("curl <path>")
    .description("call the API")
    .option("-X, --request <method>", "HTTP method")
    .option("-d, --data <json>", "body")
    .action(
      withContext(async (context, path: string, options: { request?: string; data?: string }) =>
        (await import("./target/curl.ts")).curl(context, path, options),
      ),
    );
}

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

function addPush(program: Command): void {
  addPushOptions(program.command("push [app]").description("build and start an app from this folder"))
    .option("--no-start", "do not start it")
    .action(
      withContext(async (context, app: string | undefined, options: PushOptions) =>
        (await import("./push/push.ts")).push(context, app, options),
      ),
    );
  addPushOptions(
    program.command("render [app]").description("print the objects that a push would write, as YAML"),
  ).action(
    withContext(async (context, app: string | undefined, options: PushOptions) =>
      (await import("./push/render.ts")).renderCommand(context, app, options),
    ),
  );
}

function addApps(program: Command): void {
  program
    .command("apps")
    .description("list apps")
    .action(withContext(async (context) => (await import("./app/list.ts")).listApps(context)));
  program
    .command("app <app>")
    .description("show an app and its instances")
    .action(withContext(async (context, name: string) => (await import("./app/show.ts")).showApp(context, name)));
  program
    .command("logs <app>")
    .description("follow an app's log")
    .option("--recent", "print the recent lines and end")
    .action(
      withContext(async (context, name: string, options: { recent?: boolean }) =>
        (await import("./app/logs.ts")).logs(context, name, options),
      ),
    );
}

function addEnvironment(program: Command): void {
  program
    .command("env <app>")
    .description("show an app's environment")
    .action(withContext(async (context, name: string) => (await import("./app/env.ts")).showEnv(context, name)));
  program
    .command("set-env <app> <name> <value>")
    .description("set a variable; takes effect at the next start")
    .action(
      withContext(async (context, app: string, name: string, value: string) =>
        (await import("./app/env.ts")).setEnv(context, app, { [name]: value }),
      ),
    );
  program
    .command("unset-env <app> <name>")
    .description("remove a variable")
    .action(
      withContext(async (context, app: string, name: string) =>
        (await import("./app/env.ts")).setEnv(context, app, { [name]: null }),
      ),
    );
}

function addAppVerbs(program: Command): void {
  for (const verb of ["start", "stop", "restart"] as const) {
    program
      .command(`${verb} <app>`)
      .description(`${verb} an app`)
      .action(
        withContext(async (context, name: string) => (await import("./app/verbs.ts")).runVerb(context, verb, name)),
      );
  }
  program
    .command("restage <app>")
    .description("build the newest package again and restart")
    .action(withContext(async (context, name: string) => (await import("./app/restage.ts")).restage(context, name)));
  program
    .command("scale <app>")
    .description("change number or size of instances")
    .option("-i, --instances <n>", "number of instances", toCount)
    .option("-m, --memory <size>", "memory per instance; restarts the app")
    .option("-k, --disk <size>", "disk per instance; restarts the app")
    .option("--process <type>", "process type", "web")
    .action(
      withContext(async (context, name: string, options: ScaleOptions) =>
        (await import("./app/scale.ts")).scale(context, name, options),
      ),
    );
  program
    .command("delete <app>")
    .description("delete an app")
    .option("-r, --routes", "delete its routes, too")
    .action(
      withContext(async (context, name: string, options: { routes?: boolean }) =>
        (await import("./app/delete.ts")).deleteApp(context, name, options),
      ),
    );
}

function addRoutes(program: Command): void {
  const address = (command: Command): Command =>
    command.option("-n, --hostname <host>", "host").option("--path <path>", "path");
  program
    .command("routes")
    .description("list routes of the space")
    .action(withContext(async (context) => (await import("./route/route.ts")).listRoutes(context)));
  program
    .command("domains")
    .description("list domains")
    .action(withContext(async (context) => (await import("./route/route.ts")).listDomains(context)));
  address(program.command("create-route <domain>").description("create a route")).action(
    withContext(async (context, domain: string, options: RouteOptions) =>
      (await import("./route/route.ts")).createRoute(context, domain, options),
    ),
  );
  address(program.command("delete-route <domain>").description("delete a route")).action(
    withContext(async (context, domain: string, options: RouteOptions) =>
      (await import("./route/route.ts")).deleteRoute(context, domain, options),
    ),
  );
  address(program.command("map-route <app> <domain>").description("route requests to an app")).action(
    withContext(async (context, app: string, domain: string, options: RouteOptions) =>
      (await import("./route/map.ts")).mapRoute(context, { app, domain, ...options }),
    ),
  );
  address(program.command("unmap-route <app> <domain>").description("remove an app from a route")).action(
    withContext(async (context, app: string, domain: string, options: RouteOptions) =>
      (await import("./route/map.ts")).unmapRoute(context, { app, domain, ...options }),
    ),
  );
}

function addOrgs(program: Command): void {
  program
    .command("orgs")
    .description("list orgs")
    .action(withContext(async (context) => (await import("./org/org.ts")).listOrgs(context)));
  program
    .command("create-org <name>")
    .description("create an org")
    .action(withContext(async (context, name: string) => (await import("./org/org.ts")).createOrg(context, name)));
  program
    .command("delete-org <name>")
    .description("delete an org and everything in it")
    .action(withContext(async (context, name: string) => (await import("./org/org.ts")).deleteOrg(context, name)));
  program
    .command("spaces")
    .description("list spaces of the org")
    .action(withContext(async (context) => (await import("./space/space.ts")).listSpaces(context)));
  program
    .command("create-space <name>")
    .description("create a space")
    .action(
      withContext(async (context, name: string) => (await import("./space/space.ts")).createSpace(context, name)),
    );
  program
    .command("delete-space <name>")
    .description("delete a space and everything in it")
    .action(
      withContext(async (context, name: string) => (await import("./space/space.ts")).deleteSpace(context, name)),
    );
  for (const what of ["buildpacks", "stacks"] as const) {
    program
      .command(what)
      .description(`list ${what}`)
      .action(withContext(async (context) => (await import("./platform/list.ts")).listPlatform(context, what)));
  }
}

function toPort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    throw new InvalidArgumentError("a port is a number from 0 to 65535.");
  return port;
}

function toCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 0) throw new InvalidArgumentError("a whole number, 0 or more.");
  return count;
}
