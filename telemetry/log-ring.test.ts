// Order, windows and limits of the rings, and their bounds under any input.
import { describe, expect, it } from "vitest";
import type { LogQuery } from "./envelope.ts";
import { lineSplitter } from "./line-splitter.ts";
import { createLogRing, defaultRingLimits, maxLineLength } from "./log-ring.ts";

const text = (payload: string): string => Buffer.from(payload, "base64").toString();

function filled(lines: number) {
  let now = 1000n;
  const ring = createLogRing(defaultRingLimits, () => (now += 10n));
  for (let i = 0; i < lines; i++)
    ring.log({
      source: "app",
      sourceType: "APP/PROC/WEB",
      message: `line ${i}`,
      stream: i % 2 ? "ERR" : "OUT",
      instance: "3",
    });
  return ring;
}

describe("reading", () => {
  it("presents the Log Cache shape", () => {
    expect(filled(2).read("app", {})[1]).toEqual({
      timestamp: "1020",
      source_id: "app",
      instance_id: "3",
      tags: { source_type: "APP/PROC/WEB", instance_id: "3" },
      log: { payload: Buffer.from("line 1").toString("base64"), type: "ERR" },
    });
  });

  const rows: [string, LogQuery, number[]][] = [
    ["everything, oldest first", {}, [0, 1, 2, 3, 4]],
    ["start is inclusive", { start: 1030n }, [2, 3, 4]],
    ["end is exclusive", { end: 1030n }, [0, 1]],
    ["a limit keeps the oldest when ascending", { limit: 2 }, [0, 1]],
    ["a limit keeps the newest when descending", { limit: 2, descending: true }, [4, 3]],
    ["a window, newest first", { start: 1020n, end: 1040n, descending: true }, [2, 1]],
    ["no other type is kept", { types: ["GAUGE"] }, []],
    ["LOG among other types", { types: ["LOG", "GAUGE"], limit: 1 }, [0]],
    ["Go's zero time is before everything", { start: -6795364578871345152n, limit: 1 }, [0]],
    ["an empty window", { start: 1040n, end: 1020n }, []],
  ];
  it.each(rows)("%s", (_name, query, wanted) => {
    expect(
      filled(5)
        .read("app", query)
        .map((envelope) => text(envelope.log.payload)),
    ).toEqual(wanted.map((i) => `line ${i}`));
  });

  it("gives strictly increasing times within a source, so that a reader can go on from the last", () => {
    const ring = createLogRing(defaultRingLimits, () => 5n);
    for (let i = 0; i < 3; i++) ring.log({ source: "app", sourceType: "CELL", message: "x" });
    expect(ring.read("app", {}).map((envelope) => envelope.timestamp)).toEqual(["5", "6", "7"]);
  });
});

describe("bounds", () => {
  it("holds lines and bytes of one source", () => {
    const ring = createLogRing({ ...defaultRingLimits, linesPerSource: 3, bytesPerSource: 1000 });
    for (let i = 0; i < 10; i++) ring.log({ source: "app", sourceType: "CELL", message: String(i) });
    expect(ring.read("app", {}).map((envelope) => text(envelope.log.payload))).toEqual(["7", "8", "9"]);
    ring.log({ source: "app", sourceType: "CELL", message: "z".repeat(800) });
    expect(ring.meta().app).toMatchObject({ count: "1", expired: "10" });
  });

  it("holds the bytes of 10,000 apps together, and the talkative one pays first", () => {
    const ring = createLogRing({ ...defaultRingLimits, bytes: 4 << 20 });
    for (let i = 0; i < 10_000; i++) ring.log({ source: `app-${i}`, sourceType: "CELL", message: "quiet" });
    for (let i = 0; i < 20_000; i++) ring.log({ source: "loud", sourceType: "CELL", message: "x".repeat(1000) });
    expect(ring.size()).toBeLessThanOrEqual(4 << 20);
    expect(ring.read("app-0", {})).toHaveLength(1);
    expect(ring.read("loud", { limit: 1 })).toHaveLength(1);
  });

  it("forgets the source that was silent the longest when there are too many", () => {
    const ring = createLogRing({ ...defaultRingLimits, sources: 2 });
    for (const source of ["a", "b", "a", "c"]) ring.log({ source, sourceType: "CELL", message: "x" });
    expect(Object.keys(ring.meta()).sort()).toEqual(["a", "c"]);
  });

  it("cuts an endless line", () => {
    const ring = createLogRing();
    ring.log({ source: "app", sourceType: "CELL", message: "x".repeat(maxLineLength + 1) });
    expect(text(ring.read("app", {})[0]?.log.payload ?? "")).toHaveLength(maxLineLength);
  });
});

describe("lineSplitter", () => {
  const rows: [string, string[], string[]][] = [
    ["lines across chunks", ["a", "b\nc", "\n"], ["ab", "c"]],
    ["carriage returns and blank lines", ["a\r\n\r\nb\n"], ["a", "", "b"]],
    ["a last line without an end", ["a\nb"], ["a", "b"]],
    ["a line that never ends, in pieces", ["12345678", "9"], ["12345", "6789"]],
    ["a long line that ends", ["1234567\n8\n"], ["12345", "67", "8"]],
  ];
  it.each(rows)("%s", (_name, chunks, wanted) => {
    const lines: string[] = [];
    const splitter = lineSplitter((line) => lines.push(line), 5);
    for (const chunk of chunks) splitter.write(Buffer.from(chunk));
    splitter.flush();
    expect(lines).toEqual(wanted);
  });

  it("does not tear a character that two chunks share", () => {
    const lines: string[] = [];
    const splitter = lineSplitter((line) => lines.push(line));
    for (const byte of Buffer.from("é\n")) splitter.write(Buffer.from([byte]));
    expect(lines).toEqual(["é"]);
  });
});
