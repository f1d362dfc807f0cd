// Help texts of `cup`.
import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { findCandidates } from "./completion/complete.ts";
import { topHelp, toUsageError } from "./help.ts";
import { buildProgram } from "./program.ts";

const program = buildProgram();

/** Lists, which have commands of their own below them. */
const LISTS = ["services"];

/** The commands that do something, with their path below `cup`. */
function leaves(command: Command, path: string[] = []): { name: string; command: Command }[] {
  const shown = command.createHelp().visibleCommands(command);
  return shown.flatMap((child) =>
    child.commands.length > 0
      ? [
          ...(LISTS.includes(child.name()) ? [{ name: child.name(), command: child }] : []),
          ...leaves(child, [...path, child.name()]),
        ]
      : [{ name: [...path, child.name()].join(" "), command: child }],
  );
}
const commands = leaves(program).filter(({ name }) => !/ help$/.test(name));

describe("the top help", () => {
  test("fits one screen", () => {
    const lines = topHelp().trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(23);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  });

  test("names every command, and no other", () => {
    const groups = topHelp().split("\n\n")[2] ?? "";
    const named = groups
      .split("\n")
      .flatMap((line) => line.slice(14).trim().split(", "))
      .flatMap((one) => {
        const [noun, verbs] = one.split(" ");
        return verbs ? verbs.split("|").map((verb) => `${noun} ${verb}`) : [one];
      });
    expect([...new Set(named)].sort()).toEqual(commands.map(({ name }) => name).sort());
  });
});

test.each(commands.filter(({ name }) => name !== "help"))("cup $name has an example of itself", ({ name, command }) => {
  let text = "";
  command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp();
  expect(text).toMatch(/^Examples?:$/m);
  expect(text.split(/^Examples?:$/m)[1]).toContain(`cup ${name}`);
});

test.each([
  [["rollout", "start"], "Usage: cup rollout start [options] <app>"],
  [["rollout"], "Usage: cup rollout [options] [command]"],
  [["push"], "Usage: cup push [options] [app]"],
  [[], "cup: Cloud Foundry on Kubernetes"],
  [["rollout", "strat"], "unknown command 'strat'"],
  [["bogus"], "unknown command 'bogus'"],
])("cup help %j", (words, expected) => {
  const output = runHelp(words);
  expect(output).toContain(expected);
});

/** Commander ends the process after help, so its end is an error here. */
function runHelp(words: readonly string[]): string {
  let text = "";
  const silent = buildProgram();
  const configure = (command: Command): void => {
    command
      .exitOverride()
      .configureOutput({ writeOut: (part) => (text += part), outputError: (part) => (text += part) });
    command.commands.forEach(configure);
  };
  configure(silent);
  expect(() => silent.parse(["node", "cup", "help", ...words])).toThrow();
  return text;
}

test.each([
  ["error: unknown command 'pussh'\n(Did you mean push?)", "cup", "unknown command 'pussh'", "did you mean push?"],
  [
    "error: unknown command 'st'\n(Did you mean one of start, stop?)",
    "cup local",
    "unknown command 'st'",
    "did you mean start, stop?",
  ],
  ["error: unknown command 'frobnicate'", "cup", "unknown command 'frobnicate'", "cup --help"],
  ["error: missing required argument 'app'", "cup logs", "missing required argument 'app'", "cup help logs"],
])("%j ends in the next step", (text, command, message, next) => {
  expect(toUsageError(text, command)).toEqual({ message, next });
});

test.each([
  ["the start of a command", ["pu"], { words: ["push"] }],
  ["a command of a command", ["local", "st"], { words: ["start", "status", "stop"] }],
  ["an option", ["push", "--pa"], { words: ["--path"] }],
  ["an app's name", ["logs", "sh"], { words: [], names: "app" }],
  ["an app's name after an option", ["logs", "--recent", ""], { words: [], names: "app" }],
  ["the second argument", ["map-route", "shop", ""], { words: [], names: "domain" }],
  ["an option's choices", ["push", "--strategy", ""], { words: ["rolling", "canary"] }],
  ["the start of a choice", ["push", "shop", "--strategy", "c"], { words: ["canary"] }],
  ["a space after its option", ["target", "--space", ""], { words: [], names: "space" }],
  ["an org after its short option", ["target", "-o", ""], { words: [], names: "org" }],
  ["nothing for a free value", ["push", "--memory", ""], { words: [] }],
  ["a new name", ["create-org", ""], { words: [] }],
  ["a space's name", ["delete-space", ""], { words: [], names: "space" }],
  ["a command to explain", ["help", "rollo"], { words: ["rollout"] }],
  ["a command's command to explain", ["help", "rollout", "st"], { words: ["start", "status"] }],
  ["nothing behind a command to explain", ["help", "logs", ""], { words: [] }],
])("completion goes on with %s", (_what, words, expected) => {
  expect(findCandidates(program, words)).toEqual(expected);
});
