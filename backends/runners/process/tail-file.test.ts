// The lines of a growing file, also when it is emptied meanwhile.
import { appendFileSync, mkdtempSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Tail, tailFile } from "./tail-file.ts";

let path: string;
let tail: Tail | undefined;
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), "cupola-tail-")), "out.log");
  writeFileSync(path, "");
});
afterEach(() => tail?.close());

function follow() {
  const lines: string[] = [];
  const times: (bigint | undefined)[] = [];
  tail = tailFile({
    path,
    onLine: (line, time) => void (lines.push(line), times.push(time)),
    onDropped: () => undefined,
  });
  return { lines, times };
}

describe("tailFile", () => {
  it("emits lines as they are written, and the unfinished one at the end", async () => {
    const { lines } = follow();
    appendFileSync(path, "one\ntw");
    await vi.waitFor(() => expect(lines).toEqual(["one"]));
    appendFileSync(path, "o\nthree");
    await vi.waitFor(() => expect(lines).toEqual(["one", "two"]));
    tail?.close();
    expect(lines).toEqual(["one", "two", "three"]);
  });

  it("gives earlier lines the time of the file, so that a restart does not make them new", async () => {
    writeFileSync(path, "old\n");
    const { lines, times } = follow();
    await vi.waitFor(() => expect(lines).toEqual(["old"]));
    appendFileSync(path, "new\n");
    await vi.waitFor(() => expect(lines).toEqual(["old", "new"]));
    expect(typeof times[0]).toBe("bigint");
    expect(times[1]).toBeUndefined();
  });

  it("empties a file that has grown, without losing lines", async () => {
    const { lines } = follow();
    const line = "x".repeat(1023);
    for (let i = 0; i < 1500; i++) appendFileSync(path, `${line}\n`);
    await vi.waitFor(() => expect(lines).toHaveLength(1500));
    await vi.waitFor(() => expect(statSync(path).size).toBeLessThan(1 << 20));
    appendFileSync(path, "after\n");
    await vi.waitFor(() => expect(lines.at(-1)).toBe("after"));
  });

  it("continues when the program empties its own output", async () => {
    const { lines } = follow();
    appendFileSync(path, "a long first line\n");
    await vi.waitFor(() => expect(lines).toHaveLength(1));
    truncateSync(path, 0);
    appendFileSync(path, "b\n");
    await vi.waitFor(() => expect(lines).toEqual(["a long first line", "b"]));
  });
});
