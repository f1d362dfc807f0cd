// The removal of unused content says a reason once, goes on, and says when it can again.
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { runRemovalLoop } from "./removal-loop.ts";

async function lines(outcomes: (number | string | undefined)[]): Promise<string[]> {
  const written: string[] = [];
  const log = pino({}, { write: (line: string) => void written.push((JSON.parse(line) as { msg: string }).msg) });
  const left = [...outcomes];
  const look = async (): Promise<number | undefined> => {
    const outcome = left.shift();
    if (typeof outcome === "string") throw new Error(outcome);
    return outcome;
  };
  await runRemovalLoop({ content: "contents", look, graceMs: 2, log }, new AbortController().signal);
  expect(left).toEqual([]);
  return written;
}

test("one reason is one line, however often it is met; another is another", async () => {
  expect(await lines(["west is away", "west is away", "east is away", 2, "west is away", undefined])).toEqual([
    "could not remove unused contents; each later look tries again",
    "could not remove unused contents; each later look tries again",
    "unused contents can be removed again",
    "removed contents that nothing refers to",
    "could not remove unused contents; each later look tries again",
  ]);
});

test("the signal ends it", async () => {
  const abort = new AbortController();
  let looks = 0;
  const look = async (): Promise<number> => (looks++, 0);
  const loop = runRemovalLoop(
    { content: "contents", look, graceMs: 60_000, log: pino({ level: "silent" }) },
    abort.signal,
  );
  await vi.waitFor(() => expect(looks).toBe(1));
  abort.abort();
  await loop;
  expect(looks).toBe(1);
});
