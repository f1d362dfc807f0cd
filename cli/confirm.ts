// Asks before something is deleted.
import { createInterface } from "node:readline/promises";
import { Failure } from "./failure.ts";

/** Where a person can be asked, asks; elsewhere --force is the answer. @throws Failure (usage) unless it is yes */
export async function confirm(question: string, force: boolean | undefined): Promise<void> {
  if (force) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new Failure(`${question} Nobody can be asked here`, { kind: "usage", next: "the same again with --force" });
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question} [y/N] `);
    if (/^y(es)?$/i.test(answer.trim())) return;
  } finally {
    terminal.close();
  }
  throw new Failure("nothing was deleted");
}
