// CF's selector grammar: matches and rejected selectors.
import { expect, test } from "vitest";
import { parseLabelSelector } from "./label-selector.ts";

const labels = { env: "prod", "example.com/tier": "web", empty: "" };

test.each([
  ["env", true],
  ["!env", false],
  ["!other", true],
  ["env=prod", true],
  ["env==prod", true],
  ["env=dev", false],
  ["env!=dev", true],
  ["other!=dev", true],
  ["env in (dev,prod)", true],
  ["env in (dev)", false],
  ["env notin (dev)", true],
  ["other notin (dev)", true],
  ["other in (dev)", false],
  ["example.com/tier=web,env in (prod,dev),!gone", true],
  ["example.com/tier=web,env=dev", false],
  ["empty=", true],
  ["constructor", false],
] as const)("%s", (selector, matches) => {
  const parsed = parseLabelSelector(selector);
  expect(typeof parsed === "function" && parsed(labels)).toBe(matches);
});

test.each([
  ["", "Missing label_selector value"],
  [" ", "Missing label_selector value"],
  ["env in prod", "Invalid label_selector value"],
  ["env in(prod)", "Invalid label_selector value"],
  ["((", "Invalid label_selector value"],
  ["a=b=c", "Invalid label_selector value"],
  ["-bad=x", "Invalid label_selector value"],
  ["a=-", "Invalid label_selector value"],
  [",", "Invalid label_selector value"],
  [Array.from({ length: 51 }, (_, at) => `k${at}`).join(","), "Too many label_selector requirements (maximum is 50)"],
])("%s is refused", (selector, problem) => {
  expect(parseLabelSelector(selector)).toEqual({ problem });
});
