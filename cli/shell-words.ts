// Words of a command line, as a shell takes them. Pure.
import { singleQuote } from "../backends/host/single-quote.ts";

/** The word as a shell takes it. */
export function quoteForShell(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : singleQuote(word);
}

/** A single word is a line for a shell, as `cf run-task --command` takes it. Several words are a program and its arguments, which the shell leaves as they are. Variables may come before the program. */
export function toCommandLine(words: readonly string[]): string {
  const [line = "", ...more] = words;
  if (more.length === 0) return line;
  const program = words.findIndex((word) => !ASSIGNMENT.test(word));
  const split = program === -1 ? words.length : program;
  return [...words.slice(0, split).map(toAssignment), ...words.slice(split).map(quoteLiterally)].join(" ");
}

const ASSIGNMENT = /^([A-Za-z_]\w*)=([^]*)$/;

function toAssignment(word: string): string {
  const [, name = "", value = ""] = ASSIGNMENT.exec(word) ?? [];
  return `${name}=${quoteLiterally(value)}`;
}

/** An unquoted `~` at the start of a word would become a home folder. */
function quoteLiterally(word: string): string {
  return word.startsWith("~") ? singleQuote(word) : quoteForShell(word);
}
