// An app in a word.
import { expect, test } from "vitest";
import { stateOf, type ProcessState } from "./process-state.ts";

const processes = (...states: string[]): ProcessState[] => [
  { process: {} as never, instances: states.map((state, index) => ({ index, state })) },
];

test.each([
  ["running", "STARTED", ["RUNNING", "RUNNING"], false],
  ["starting", "STARTED", ["RUNNING", "STARTING"], false],
  ["crashing", "STARTED", ["RUNNING", "STARTING", "CRASHED"], false],
  ["down", "STARTED", ["STARTING", "DOWN"], false],
  ["stopped", "STOPPED", [], false],
  ["failed", "STOPPED", [], true],
  ["failed", "STARTED", ["DOWN"], true],
] as const)("%s", (expected, state, states, hasFailedBuild) => {
  expect(stateOf({ state }, processes(...states), hasFailedBuild)).toBe(expected);
});
