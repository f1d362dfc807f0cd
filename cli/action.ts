// Runs the action of a command: the one place where its result or failure is printed. Loads next to nothing, as every call of `cup` passes here.
import type { Command } from "commander";
import { stderrColours } from "./colours.ts";
import type { Context } from "./context.ts";
import { Failure } from "./failure.ts";
import { printError, printJson, printLines, stderrProgress, type Progress, type Result } from "./output.ts";

/** Options every command has. */
export interface CommonOptions {
  json?: boolean;
}

/** Runs an action that needs a target, which is loaded only now, prints what it answers and sets the exit code. */
export function withContext<Args extends unknown[]>(action: (context: Context, ...args: Args) => Promise<Result>) {
  return withoutContext(async (progress: Progress, ...args: Args) => {
    const context = await (await import("./context.ts")).makeContext(progress);
    return action(context, ...args).catch(async (error: unknown) => {
      throw await (await import("./missing-role.ts")).withRole(context, error);
    });
  });
}

/** As withContext, for commands that need no target. Commander calls it with the arguments, the options and the command. */
export function withoutContext<Args extends unknown[]>(action: (progress: Progress, ...args: Args) => Promise<Result>) {
  return async (...all: [...Args, Command]): Promise<void> => {
    const command = all.at(-1) as Command;
    const json = command.optsWithGlobals<CommonOptions>().json === true;
    try {
      const result = await action(stderrProgress(json), ...(all.slice(0, -1) as unknown as Args));
      if (json && result.json !== undefined) printJson(result.json, 2);
      else printLines(...result.text);
      if (result.exitCode !== undefined) process.exitCode = result.exitCode;
    } catch (error) {
      report(error, json);
    }
  };
}

function report(error: unknown, json: boolean): void {
  const failure =
    error instanceof Failure
      ? error
      : new Failure(error instanceof Error ? error.message : String(error), { cause: error });
  process.exitCode = failure.exitCode;
  const { kind, message, next, log } = failure;
  if (json) printJson({ error: { kind, message, next, ...(log.length > 0 && { log }) } }, 2);
  else printFailure(failure);
}

/** Tells a person on stderr; the exit code stays as it is. */
export function printFailure(failure: Failure): void {
  printError(...toLines(failure));
}

/** Prints the failure, the log that tells why, and the next step as the last line. */
function toLines({ message, next, log }: Failure): string[] {
  const { red, dim } = stderrColours;
  return [
    `${red("✗")} ${message}`,
    ...log.map((line) => `  ${dim("|")} ${line}`),
    ...(next === undefined ? [] : [`  Next: ${next}`]),
  ];
}
