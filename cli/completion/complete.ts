// Completions of a command line: commands, options, and names that the platform knows.
import type { Command, Option } from "commander";
import type { Context } from "../context.ts";
import { silentProgress, type Result } from "../output.ts";

/** Where the names of an argument come from. */
export type NameSource = "app" | "domain" | "offering" | "org" | "service" | "space";

/** Candidates from the command tree alone, and what to ask the platform for. Pure. */
export interface Candidates {
  words: string[];
  names?: NameSource;
}

/** @param words all but `cup`; the last is the one under the cursor, perhaps empty */
export function findCandidates(program: Command, words: readonly string[]): Candidates {
  // `help` takes the words of a command, and neither its options nor its arguments.
  if (words.length > 1 && words[0] === "help") return { words: findCandidates(program, words.slice(1)).words };
  const [last = "", ...before] = words.toReversed();
  const { command, argument } = findPlace(program, before.toReversed());
  const ofOption = valuesOf([...command.options, ...program.options], before[0], last);
  if (ofOption) return ofOption;
  const startsAsLast = (word: string): boolean => word.startsWith(last);
  if (last.startsWith("-")) return { words: optionsOf(program, command).filter(startsAsLast) };
  if (command.commands.length > 0) return { words: visibleNames(command).filter(startsAsLast) };
  const names = sourceOf(command, argument);
  return { words: [], ...(names && { names }) };
}

/** The command that the words name, and how many arguments follow it. */
function findPlace(program: Command, words: readonly string[]): { command: Command; argument: number } {
  let command = program;
  let argument = 0;
  for (const word of words.filter((one) => !one.startsWith("-"))) {
    const child = command.commands.find((one) => one.name() === word);
    if (child && argument === 0) command = child;
    else argument++;
  }
  return { command, argument };
}

/** Candidates for the value of an option; undefined after any other word. */
function valuesOf(options: readonly Option[], word: string | undefined, last: string): Candidates | undefined {
  const option = options.find(({ long, short }) => word !== undefined && [long, short].includes(word));
  if (!option?.required) return undefined;
  const words = option.argChoices?.filter((one) => one.startsWith(last)) ?? [];
  const name = option.attributeName();
  return { words, ...((name === "org" || name === "space") && { names: name }) };
}

function visibleNames(command: Command): string[] {
  const shown = command.createHelp().visibleCommands(command);
  return shown.map((one) => one.name()).sort();
}

function optionsOf(program: Command, command: Command): string[] {
  const own = [...command.options, ...program.options].map(({ long }) => long);
  return [...new Set([...own.filter((one) => one !== undefined && one !== null), "--help"])].sort();
}

function sourceOf(command: Command, at: number): NameSource | undefined {
  const name = command.registeredArguments[at]?.name();
  if (name === "app" || name === "domain" || name === "offering" || name === "service") return name;
  if (name !== "name") return undefined;
  if (["org", "delete-org"].includes(command.name())) return "org";
  return ["space", "delete-space"].includes(command.name()) ? "space" : undefined;
}

const PATHS = {
  app: "/v3/apps",
  domain: "/v3/domains",
  offering: "/v3/service_offerings",
  org: "/v3/organizations",
  service: "/v3/service_instances",
  space: "/v3/spaces",
} as const;
/** Sources whose names depend on the targeted space. */
const OF_SPACE: ReadonlySet<NameSource> = new Set(["app", "offering", "service"]);
const DEADLINE_MS = 2_000;

/** The candidates, one a line. A platform that does not answer is no error here. */
export async function complete(program: Command, words: readonly string[]): Promise<Result> {
  const { words: found, names } = findCandidates(program, words);
  const known = names ? await readKnown(names).catch(() => []) : [];
  const all = [...found, ...known.filter((name) => name.startsWith(words.at(-1) ?? ""))];
  return { json: all, text: all };
}

async function readKnown(source: NameSource): Promise<string[]> {
  const { makeContext } = await import("../context.ts");
  return readNames(await makeContext(silentProgress), source);
}

/** The names that the platform knows, in their order. */
export async function readNames(
  context: Pick<Context, "api" | "org" | "space">,
  source: NameSource,
): Promise<string[]> {
  const query: Record<string, string> = { per_page: "200" };
  if (OF_SPACE.has(source)) query["space_guids"] = (await context.space()).guid;
  if (source === "space") query["organization_guids"] = (await context.org()).guid;
  const { resources } = await context.api.request<{ resources: { name: string }[] }>("GET", PATHS[source], {
    query,
    deadlineMs: DEADLINE_MS,
  });
  // Sorted here: not every list can be asked for in the order of its names.
  return resources.map(({ name }) => name).sort();
}
