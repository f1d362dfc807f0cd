// The command tree of `cup`. Each action is loaded when it is called, so that `cup` starts quickly.
import { Command } from "commander";
import { cupolaVersion } from "../platform/version.ts";
import { addAppVerbs, addApps, addEnvironment, addEvents } from "./commands/apps.ts";
import { addBackup } from "./commands/backup.ts";
import { addClusters, addPlacement, addSegments } from "./commands/clusters.ts";
import { addDoctor, addLocal, addSupportBundle } from "./commands/local.ts";
import { addOrgs, addPlatform, addSpaces } from "./commands/orgs.ts";
import { addPolicy } from "./commands/policy.ts";
import { addPush } from "./commands/push.ts";
import { addRollouts } from "./commands/rollouts.ts";
import { addMappings, addRoutes } from "./commands/routes.ts";
import { addBindings, addInstanceRemoval, addInstanceVerbs, addServices } from "./commands/services.ts";
import { addHelp, addShell } from "./commands/shell.ts";
import { addTasks } from "./commands/tasks.ts";
import { addTarget } from "./commands/target.ts";
import { addWorkloads } from "./commands/workloads.ts";
import { EXIT_CODES } from "./failure.ts";
import { tellUsageErrors, topHelp } from "./help.ts";

/** Builds the command tree. */
export function buildProgram(): Command {
  const program = new Command("cup")
    .option("--json", "print the result, or the error, as JSON")
    .version(cupolaVersion(), "-V, --version", "print the version of cup")
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_CODES.usage));
  addLocal(program);
  addDoctor(program);
  addSupportBundle(program);
  addBackup(program);
  addTarget(program);
  addPush(program);
  addApps(program);
  addEvents(program);
  addEnvironment(program);
  addAppVerbs(program);
  addWorkloads(program);
  addRollouts(program);
  addTasks(program);
  addRoutes(program);
  addMappings(program);
  addServices(program);
  addInstanceVerbs(program);
  addInstanceRemoval(program);
  addBindings(program);
  addOrgs(program);
  addSpaces(program);
  addPlatform(program);
  addPolicy(program);
  addClusters(program);
  addSegments(program);
  addPlacement(program);
  addShell(program);
  addHelp(program);
  program.helpInformation = topHelp;
  tellUsageErrors(program);
  return program;
}
