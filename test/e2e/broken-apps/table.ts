// Reads the table of docs/troubleshooting.md: what each command says of an app that is broken in one way.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A row. */
export interface Failure {
  name: string;
  where: readonly string[];
  /** States of the instance in `cf app` and `cup app`, one after the other. */
  states: readonly string[];
  /** The sentence that every command shows. */
  details: RegExp;
  /** Reason of Ready and of the Event; undefined where the start is still under way. */
  reason: string | undefined;
}

const PAGE = join(import.meta.dirname, "..", "..", "..", "docs", "troubleshooting.md");

/** The rows in order. @throws Error when the page has no such table */
export function readFailures(): Failure[] {
  const lines = readFileSync(PAGE, "utf8").split("\n");
  const head = lines.findIndex((line) => line.startsWith("| failure |"));
  if (head < 0) throw new Error(`${PAGE} has no table whose first column is "failure"`);
  const rows = lines.slice(head + 2);
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith("|")),
    )
    .map(toFailure);
}

function toFailure(line: string): Failure {
  const [name = "", where = "", state = "", details = "", reason = ""] = line
    .split("|")
    .slice(1)
    .map((cell) => cell.trim());
  return {
    name,
    where: splitWords(where),
    states: splitWords(state),
    details: new RegExp(
      details
        .split(/<[^<>]+>/)
        .map(escape)
        .join(".+"),
    ),
    reason: reason === "-" ? undefined : reason,
  };
}

function splitWords(cell: string): string[] {
  return cell.split(",").map((word) => word.trim());
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
