// The commands about service instances and bindings.
import type { Command } from "commander";
import { withContext } from "../action.ts";
import { example } from "../help.ts";
import type { BindOptions } from "../service/bind.ts";
import type { CreateOptions, ProvideOptions } from "../service/create.ts";
import type { WaitOptions } from "../service/follow-operation.ts";

const NO_WAIT = ["--no-wait", "return at once, while the broker works"] as const;
const PARAMETERS = [
  "-c, --parameters <json>",
  "parameters for the broker: a JSON object, or the path of a file",
] as const;

/** Instances. */
export function addServices(program: Command): void {
  const services = program
    .command("services")
    .description("list service instances of the space, and the apps that are bound to them")
    .addHelpText("after", example("cup services", "cup services --json", "cup services enable postgres"))
    .action(withContext(async (context) => (await import("../service/list.ts")).listServices(context)));
  addDatabases(services);
  program
    .command("service <service>")
    .description("show a service instance, its last operation and its bindings")
    .addHelpText("after", example("cup service shop-db"))
    .action(
      withContext(async (context, name: string) => (await import("../service/show.ts")).showService(context, name)),
    );
  program
    .command("marketplace [offering]")
    .description("list the offerings that the space may use, or the plans of one")
    .addHelpText("after", example("cup marketplace", "cup marketplace postgres"))
    .action(
      withContext(async (context, offering?: string) =>
        (await import("../service/marketplace.ts")).showMarketplace(context, offering),
      ),
    );
}

/** Databases of this machine. */
function addDatabases(services: Command): void {
  services
    .command("enable <databases...>")
    .description("offer databases of this machine, postgres or redis, on the laptop's platform")
    .addHelpText("after", example("cup services enable postgres redis", "cup create-service postgres shop-db"))
    .action(
      withContext(async (context, names: string[]) =>
        (await import("../service/enable.ts")).enableServices(context, names),
      ),
    );
  services
    .command("disable <databases...>")
    .description("take databases of this machine out of the marketplace, once they have no instances")
    .addHelpText("after", example("cup services disable redis"))
    .action(
      withContext(async (context, names: string[]) =>
        (await import("../service/enable.ts")).disableServices(context, names),
      ),
    );
}

/** Commands that make instances. */
export function addInstanceVerbs(program: Command): void {
  program
    .command("create-service <offering> <name>")
    .description("create a service instance, and wait until its broker has made it")
    .option("-p, --plan <plan>", "plan of the offering (default: the only one)")
    .option(...PARAMETERS)
    .option("-t, --tags <tags>", "tags for VCAP_SERVICES, with commas between")
    .option(...NO_WAIT)
    .addHelpText("after", example("cup create-service postgres shop-db", "cup create-service redis cache --plan small"))
    .action(
      withContext(async (context, offering: string, name: string, options: CreateOptions) =>
        (await import("../service/create.ts")).createService(context, offering, name, options),
      ),
    );
  program
    .command("create-user-provided-service <name>")
    .description("create a service instance from credentials or a log drain of your own")
    .option("-p, --credentials <json>", "credentials: a JSON object, or the path of a file")
    .option("-l, --syslog-drain <url>", "address that gets the logs of bound apps: syslog, syslog-tls or https")
    .option("-t, --tags <tags>", "tags for VCAP_SERVICES, with commas between")
    .addHelpText(
      "after",
      example(
        "cup create-user-provided-service legacy-db --credentials db.json",
        "cup create-user-provided-service logs --syslog-drain syslog-tls://logs.example.com:6514",
      ),
    )
    .action(
      withContext(async (context, name: string, options: ProvideOptions) =>
        (await import("../service/create.ts")).createUserProvided(context, name, options),
      ),
    );
}

/** The command that deletes instances. */
export function addInstanceRemoval(program: Command): void {
  program
    .command("delete-service <service>")
    .description("delete a service instance with its bindings, and wait until its broker has deleted it")
    .option("-f, --force", "do not ask")
    .option(...NO_WAIT)
    .addHelpText("after", example("cup delete-service shop-db", "cup delete-service shop-db --force --no-wait"))
    .action(
      withContext(async (context, name: string, options: WaitOptions & { force?: boolean }) =>
        (await import("../service/create.ts")).deleteService(context, name, options),
      ),
    );
}

/** Bindings of apps. */
export function addBindings(program: Command): void {
  program
    .command("bind <app> <service>")
    .description("give a service instance to an app, from the app's next start on")
    .option("-n, --name <name>", "name under which the app finds it (default: the instance's)")
    .option(...PARAMETERS)
    .option(...NO_WAIT)
    .addHelpText("after", example("cup bind shop shop-db && cup restart shop"))
    .action(
      withContext(async (context, app: string, service: string, options: BindOptions) =>
        (await import("../service/bind.ts")).bind(context, app, service, options),
      ),
    );
  program
    .command("unbind <app> <service>")
    .description("take a service instance from an app, from the app's next start on")
    .option(...NO_WAIT)
    .addHelpText("after", example("cup unbind shop shop-db && cup restart shop"))
    .action(
      withContext(async (context, app: string, service: string, options: WaitOptions) =>
        (await import("../service/bind.ts")).unbind(context, app, service, options),
      ),
    );
}
