// The commands about orgs, spaces, buildpacks and stacks.
import type { Command } from "commander";
import { withContext } from "../action.ts";
import { example } from "../help.ts";

/** Orgs. */
export function addOrgs(program: Command): void {
  program
    .command("orgs")
    .description("list orgs")
    .addHelpText("after", example("cup orgs"))
    .action(withContext(async (context) => (await import("../org/org.ts")).listOrgs(context)));
  program
    .command("org [name]")
    .description("show an org, by default the targeted one, and what it uses of its quota")
    .addHelpText("after", example("cup org", "cup org acme"))
    .action(withContext(async (context, name?: string) => (await import("../org/org.ts")).showOrg(context, name)));
  program
    .command("create-org <name>")
    .description("create an org")
    .addHelpText("after", example("cup create-org acme"))
    .action(withContext(async (context, name: string) => (await import("../org/org.ts")).createOrg(context, name)));
  program
    .command("delete-org <name>")
    .description("delete an org and everything in it")
    .addHelpText("after", example("cup delete-org acme", "cup delete-org acme --force"))
    .option("-f, --force", "do not ask")
    .action(
      withContext(async (context, name: string, options: { force?: boolean }) =>
        (await import("../org/org.ts")).deleteOrg(context, name, options),
      ),
    );
}

/** Spaces of the targeted org. */
export function addSpaces(program: Command): void {
  program
    .command("spaces")
    .description("list spaces of the org")
    .addHelpText("after", example("cup spaces"))
    .action(withContext(async (context) => (await import("../space/space.ts")).listSpaces(context)));
  program
    .command("space [name]")
    .description("show a space, by default the targeted one, and what it uses of its quota")
    .addHelpText("after", example("cup space", "cup space dev"))
    .action(
      withContext(async (context, name?: string) => (await import("../space/space.ts")).showSpace(context, name)),
    );
  program
    .command("create-space <name>")
    .description("create a space")
    .addHelpText("after", example("cup create-space dev", "cup create-space dev --org acme"))
    .option("-o, --org <name>", "org (default: the targeted one)")
    .action(
      withContext(async (context, name: string, options: { org?: string }) =>
        (await import("../space/space.ts")).createSpace(context, name, options),
      ),
    );
  program
    .command("delete-space <name>")
    .description("delete a space and everything in it")
    .addHelpText("after", example("cup delete-space dev", "cup delete-space dev --force"))
    .option("-f, --force", "do not ask")
    .action(
      withContext(async (context, name: string, options: { force?: boolean }) =>
        (await import("../space/space.ts")).deleteSpace(context, name, options),
      ),
    );
}

/** Commands for what an operator provides. */
export function addPlatform(program: Command): void {
  for (const what of ["buildpacks", "stacks"] as const) {
    program
      .command(what)
      .description(`list ${what}`)
      .addHelpText("after", example(`cup ${what}`))
      .action(withContext(async (context) => (await import("../platform/list.ts")).listPlatform(context, what)));
  }
}
