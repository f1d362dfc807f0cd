// The commands about the target: API, user, org and space.
import type { Command } from "commander";
import { withContext, withoutContext } from "../action.ts";
import { example } from "../help.ts";
import type { LoginOptions } from "../target/login.ts";

/** Commands about the user and the place where commands act. */
export function addTarget(program: Command): void {
  addLogin(program);
  program
    .command("target")
    .description("show, or set, org and space")
    .addHelpText("after", example("cup target", "cup target --org acme --space dev"))
    .option("-o, --org <name>")
    .option("-s, --space <name>")
    .action(
      withContext(async (context, options: { org?: string; space?: string }) =>
        (await import("../target/target.ts")).target(context, options),
      ),
    );
  program
    .command("curl <path>")
    .description("call the API")
    .addHelpText("after", example("cup curl /v3/apps"))
    .option("-X, --request <method>", "HTTP method")
    .option("-d, --data <json>", "body")
    .action(
      withContext(async (context, path: string, options: { request?: string; data?: string }) =>
        (await import("../target/curl.ts")).curl(context, path, options),
      ),
    );
}

function addLogin(program: Command): void {
  program
    .command("login")
    .description("choose an API and a user of your kubeconfig")
    .addHelpText(
      "after",
      example(
        "cup login",
        "cup login --api https://cf.example.org --user alice",
        "cup login --api https://cf.test --ca cf-ca.pem",
      ),
    )
    .option("-a, --api <url>", "the CF API")
    .option("-u, --user <name>", "user (context) of the kubeconfig")
    .option("--kubeconfig <file>", "kubeconfig to take credentials from")
    .option("--ca <file>", "certificate (PEM) that the API's is trusted by")
    .option("--skip-ssl-validation", "take any certificate of the API: for tests only")
    .option("-o, --org <name>")
    .option("-s, --space <name>")
    .action(
      withoutContext(async (progress, options: LoginOptions) =>
        (await import("../target/login.ts")).login(progress, options),
      ),
    );
}
