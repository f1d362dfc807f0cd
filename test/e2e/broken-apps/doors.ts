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
export const SOON_MS = 60_000;

/** The name of the app that fails so. */
export function appNameOf({ name }: Failure): string {
  return name.replaceAll(/[^a-z]+/g, "-");
}

/** @throws Error with the output of a command that does not say it soon */
export async function expectSaid(failure: Failure, { cf, cup, kubectl, namespace }: Doors): Promise<void> {
  const { state, details, reason } = failure;
  const name = appNameOf(failure);
  const row = new RegExp(`#0\\s+${state}.*${details.source}`);
  await eventually(async () => expect(await succeed(cf("app", name))).toMatch(row), SOON_MS);
  await eventually(async () => expect(await succeed(cup("app", name))).toMatch(row));
  await eventually(async () => {
    const listed = await succeed(kubectl("get", "app", name, "-n", namespace, "-o", "wide"));
    expect(listed).toMatch(new RegExp(`${reason ?? "Starting"}.*${details.source}`));
    const page = await succeed(kubectl("describe", "app", name, "-n", namespace));
    expect(page).toMatch(new RegExp(`Message:.*${details.source}`));
    if (reason) expect(page).toMatch(new RegExp(`Warning\\s+${reason}\\s`));
  });
}

/** The output of a command. @throws Error with it when the command fails */
export async function succeed(command: Promise<CommandResult>): Promise<string> {
  const { code, output } = await command;
  expect(code, output).toBe(0);
  return output;
}
