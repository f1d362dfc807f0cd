// Facts of a spoke as data of a ConfigMap, and back.
import { expect, test } from "vitest";
import { parseFacts, toFactsData } from "./spoke-facts.ts";

test("facts are read as they were written", () => {
  const facts = { cupola: "1.6.0-rc.1", capacity: { memoryMB: 64_000, requestedMemoryMB: 21_000 } };
  expect(parseFacts(toFactsData(facts))).toEqual(facts);
  expect(parseFacts(toFactsData({}))).toEqual({});
});

test.each([
  [undefined],
  [{ "cupola-version": "<script>", "memory-mb": "1e9", "requested-memory-mb": "-1" }],
  [{ "cupola-version": "9".repeat(64), "memory-mb": "1".repeat(13), "requested-memory-mb": "0" }],
  [{ "memory-mb": "100" }],
])("%j tells nothing", (data) => expect(parseFacts(data)).toEqual({}));
