// Reads what cf, cup and kubectl say of an app, and compares it with a row of docs/troubleshooting.md.
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import type { CommandResult } from "../support/test-platform.ts";
import type { Failure } from "./table.ts";

type Run = (...args: string[]) => Promise<CommandResult>;

/** The three commands, with the app's space as their target. */
export interface Doors {
  cf: Run;
  cup: Run;
  kubectl: Run;
  namespace: string;
}

/** From the start of an app to the words of every command, on a machine that does much else. */
export const SOON_MS = 90_000;

/** The name of the app that fails so. */
export function appNameOf({ name }: Failure): string {
  return name.replaceAll(/[^a-z]+/g, "-");
}

/** @throws Error with the output of a command that does not say it soon */
export async function expectSaid(failure: Failure, { cf, cup, kubectl, namespace }: Doors): Promise<void> {
  const { states, details, reason } = failure;
  const name = appNameOf(failure);
  const row = new RegExp(`#0\\s+(?:${states.join("|")}).*${details.source}`);
  // While an instance starts, the sentence stands in Ready, too.
  const reasons = [...(reason ? [reason] : []), ...(states.includes("starting") ? ["Starting"] : [])].join("|");
  const sees = (command: () => Promise<CommandResult>, pattern: RegExp): Promise<void> =>
    eventually(async () => expect(await succeed(command())).toMatch(pattern), SOON_MS);
  const describe = (): Promise<CommandResult> => kubectl("describe", "app", name, "-n", namespace);
  await Promise.all([
    sees(() => cf("app", name), row),
    sees(() => cup("app", name), row),
    sees(
      () => kubectl("get", "app", name, "-n", namespace, "-o", "wide"),
      new RegExp(`(?:${reasons}).*${details.source}`),
    ),
    sees(describe, new RegExp(`Message:.*${details.source}`)),
    reason && sees(describe, new RegExp(`Warning\\s+${reason}\\s`)),
  ]);
}

/** The output of a command. @throws Error with it when the command fails */
export async function succeed(command: Promise<CommandResult>): Promise<string> {
  const { code, output } = await command;
  expect(code, output).toBe(0);
  return output;
}
