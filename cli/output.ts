// How `cup` prints: results on stdout, progress on stderr, tables as borderless columns.
import { stderrColours, stdoutColours } from "./colours.ts";
import { toCell, toJsonText, toLines } from "./printable.ts";

/** Answer of a command: `json` for --json, `text` for people. */
export interface Result {
  json: unknown;
  text: readonly string[];
  /** For a command whose answer is an exit code, too; 0 without it. */
  exitCode?: number;
}

/** Where a command reports its steps. */
export interface Progress {
  /** A step that has begun. */
  step(text: string): void;
  /** A line of a log that is passed through. */
  line(text: string): void;
  /** Bytes of a transfer that is under way: a bar, where a terminal can redraw it. */
  transfer(doneBytes: number, totalBytes: number): void;
}

/** The only ways to stdout and stderr for text that others may have written. */
export function printLines(...lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${toLines(line)}\n`).join(""));
}

export function printError(...lines: readonly string[]): void {
  process.stderr.write(lines.map((line) => `${toLines(line)}\n`).join(""));
}

/** A program's own line: a terminal gets it as all text of others, a file or a pipe as it is. */
export function printOutput(stream: NodeJS.WriteStream, line: string): void {
  stream.write(`${stream.isTTY ? toLines(line) : line}\n`);
}

/** `indent` for people who read it. */
export function printJson(value: unknown, indent?: number): void {
  process.stdout.write(`${toJsonText(value, indent)}\n`);
}

/** For what nobody watches. */
export const silentProgress: Progress = { step: () => undefined, line: () => undefined, transfer: () => undefined };

/** Steps and lines go to stderr, so that stdout holds the result alone. */
export function stderrProgress(quiet: boolean): Progress {
  if (quiet) return silentProgress;
  return {
    step: (text) => printError(`${stderrColours.dim("→")} ${text}`),
    line: (text) => printError(`   ${text}`),
    transfer: process.stderr.isTTY ? drawBar() : () => undefined,
  };
}

const BAR_WIDTH = 24;
const REDRAW_MS = 80;

/** Redraws one line until the transfer is complete. */
function drawBar(): Progress["transfer"] {
  let drawnAt = 0;
  return (done, total) => {
    const isComplete = done >= total;
    if (!isComplete && Date.now() - drawnAt < REDRAW_MS) return;
    drawnAt = Date.now();
    process.stderr.write(`\r   ${bar(done, total)}${isComplete ? "\n" : ""}`);
  };
}

/** `████████░░░░ 12M of 40M`, as wide at every value. */
export function bar(done: number, total: number): string {
  const full = total === 0 ? BAR_WIDTH : Math.floor((BAR_WIDTH * Math.min(done, total)) / total);
  return `${"█".repeat(full)}${"░".repeat(BAR_WIDTH - full)} ${`${bytes(done)} of ${bytes(total)}`.padEnd(16)}`;
}

/** Columns padded to their widest cell; the first row is the header. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cells = rows.map((row) => row.map(toCell));
  const widths = header.map((title, column) =>
    Math.max(title.length, ...cells.map((row) => (row[column] ?? "").length)),
  );
  const toLine = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("   ")
      .trimEnd();
  return [stdoutColours.bold(toLine(header)), ...cells.map(toLine)];
}

/** `name:   value` lines, values aligned, also further lines of one. */
export function fields(entries: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...entries.map(([name]) => name.length)) + 1;
  const shown = (value: string): string =>
    value
      .split("\n")
      .map(toCell)
      .join(`\n${"".padEnd(width + 3)}`);
  return entries.map(([name, value]) => `${`${toCell(name)}:`.padEnd(width)}   ${shown(value)}`);
}

/** Bytes as people read them: 64M, 1.5G. */
export function bytes(count: number): string {
  const units = ["B", "K", "M", "G", "T"];
  let value = count;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${value >= 10 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)}${units[unit] ?? ""}`;
}
