// The build plan as the CNB specification resolves it: provides, requires, alternatives, optional buildpacks, unmet entries.
import { expect, test } from "vitest";
import { withoutMet, type Candidate, entriesFor, type Requirement, resolvePlan } from "./build-plan.ts";

const need = (name: string): Requirement => ({ name, metadata: {} });
/** `bp("a?", "provides x", "requires y | provides z")`: each string is an alternative, `?` means optional. */
function bp(name: string, ...alternatives: string[]): Candidate {
  const parse = (text: string) => {
    const words = (verb: string): string[] =>
      [...text.matchAll(new RegExp(`${verb} (\\w+)`, "g"))].map((match) => match[1] ?? "");
    return { provides: words("provides"), requires: words("requires").map(need) };
  };
  return {
    key: name.replace("?", ""),
    optional: name.endsWith("?"),
    alternatives: (alternatives.length > 0 ? alternatives : [""]).map(parse),
  };
}

test.each<[string, Candidate[], string[]]>([
  ["no plan at all", [bp("a"), bp("b")], ["a", "b"]],
  ["provided before", [bp("a", "provides node"), bp("b", "requires node")], ["a", "b"]],
  ["provided by itself", [bp("a", "provides node requires node")], ["a"]],
  ["an optional one whose provision is not required is dropped", [bp("a?", "provides node"), bp("b")], ["b"]],
  ["an optional one whose requirement is not provided is dropped", [bp("a"), bp("b?", "requires node")], ["a"]],
  ["dropping one drops another", [bp("a?", "provides x"), bp("b?", "requires x requires y"), bp("c")], ["c"]],
  ["the second alternative", [bp("a", "provides x", "provides y"), bp("b", "requires y")], ["a", "b"]],
  [
    "the last buildpack's alternative is tried first",
    [bp("a", "provides x", "provides y"), bp("b", "requires z", "requires x")],
    ["a", "b"],
  ],
  [
    "two providers of one thing",
    [bp("a", "provides x"), bp("b", "provides x"), bp("c", "requires x")],
    ["a", "b", "c"],
  ],
])("passes: %s", (_name, candidates, members) => {
  expect(resolvePlan(candidates)).toMatchObject({ members });
});

test.each<[string, Candidate[], RegExp]>([
  [
    "required before it is provided",
    [bp("a", "requires x"), bp("b", "provides x")],
    /a requires x, which no buildpack before it provides/,
  ],
  ["provided and not required", [bp("a", "provides x"), bp("b")], /a provides x, which no buildpack after it requires/],
  ["the provider was dropped", [bp("a?", "provides x requires y"), bp("b", "requires x")], /b requires x/],
  ["only optional ones, none of them fits", [bp("a?", "requires x")], /no buildpack takes part/],
])("fails: %s", (_name, candidates, problem) => {
  expect(resolvePlan(candidates)).toEqual({ problem: expect.stringMatching(problem) });
});

test("many alternatives are resolved in bounded time", () => {
  const stubborn = Array.from({ length: 30 }, (_, index) => bp(`b${index}`, "requires never", "requires nowhere"));
  expect(resolvePlan(stubborn)).toEqual({ problem: expect.stringContaining("none of the first") });
});

test("unmet entries go to the next provider, met ones do not", () => {
  const outcome = resolvePlan([
    bp("a", "provides x provides y"),
    bp("b", "provides x provides y"),
    bp("c", "requires x requires y"),
  ]);
  if (!("plan" in outcome)) throw new Error(outcome.problem);
  expect(entriesFor(outcome.plan, "a").map((entry) => entry.name)).toEqual(["x", "y"]);
  expect(entriesFor(withoutMet(outcome.plan, "a", ["y"]), "b").map((entry) => entry.name)).toEqual(["y"]);
  expect(entriesFor(withoutMet(outcome.plan, "a", []), "b")).toEqual([]);
});
