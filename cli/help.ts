// Help of `cup`: one screen for all commands, an example for each, and one line for a mistyped one.
import type { Command } from "commander";
import { stderrColours } from "./colours.ts";
import { EXIT_CODES } from "./failure.ts";
import { printError, printJson } from "./output.ts";

/** All commands, as a person looks for them: `policy list|show` are two. A test holds that none is missing and that it fits a screen. */
const GROUPS: readonly (readonly [title: string, commands: string])[] = [
  ["Start", "local start, local status, push, dev, logs, events, open"],
  ["Apps", "apps, app, start, stop, restart, restage, scale, delete, render"],
  ["Rollouts", "rollout start|status|continue|cancel|undo, revisions"],
  ["Workloads", "workload, adjust, detach, attach"],
  ["Tasks, env", "run, tasks, cancel-task, env, set-env, unset-env"],
  ["Routes", "routes, create-route, delete-route, map-route, unmap-route"],
  ["Services", "services, service, marketplace, create-service, delete-service"],
  ["", "create-user-provided-service, bind, unbind"],
  ["Orgs", "orgs, org, create-org, delete-org, export, import"],
  ["Spaces", "spaces, space, create-space, delete-space, placement explain"],
  ["Platform", "login, target, domains, buildpacks, stacks, curl, completion, help"],
  ["Policy", "policy list|show|explain|test|delete, support-bundle"],
  ["Clusters", "clusters add|start|stop|cordon|uncordon|drain|failover|remove"],
  ["", "clusters forget|detach|allow-deletes, segments place"],
  ["This machine", "local start, local stop, doctor, services enable, services disable"],
];
const TITLE_WIDTH = 14;

/** The help of `cup` without a command. */
export function topHelp(): string {
  return `cup: Cloud Foundry on Kubernetes, from your laptop to many clusters

  cup local start     start a Cloud Foundry on this machine
  cup push shop       build and start the app of this folder

${GROUPS.map(([title, commands]) => `${title.padEnd(TITLE_WIDTH)}${commands}`).join("\n")}

  --json       print the result, or the error, as JSON
  --help       show this; cup help COMMAND explains one, with an example
`;
}

/** The end of a command's help. */
export function example(...lines: string[]): string {
  return `\nExample${lines.length > 1 ? "s" : ""}:\n${lines.map((line) => `  $ ${line}`).join("\n")}`;
}

/** Makes this command, and those below it, tell a wrong command line in two lines, the next step last; as JSON with --json. */
export function tellUsageErrors(command: Command, name = command.name()): void {
  command.configureOutput({ outputError: (text) => reportUsageError(text, name) });
  for (const child of command.commands) tellUsageErrors(child, `${name} ${child.name()}`);
}

function reportUsageError(text: string, command: string): void {
  const { message, next } = toUsageError(text, command);
  if (process.argv.includes("--json")) printJson({ error: { kind: "usage", message, next } }, 2);
  else printError(`${stderrColours.red("✗")} ${message}`, `  Next: ${next}`);
  process.exitCode = EXIT_CODES.usage;
}

/** Commander's text in our form. Pure. */
export function toUsageError(text: string, command: string): { message: string; next: string } {
  const [first = "", ...rest] = text.trim().split("\n");
  const suggestion = /^\(Did you mean (?:one of )?(.*)\?\)$/.exec(rest.at(-1) ?? "")?.[1];
  const words = command.split(" ");
  const help = words.length === 1 ? "cup --help" : `${words[0]} help ${words.slice(1).join(" ")}`;
  return {
    message: first.replace(/^error: /, ""),
    next: suggestion ? `did you mean ${suggestion}?` : help,
  };
}
