// Which buildpacks move when one is added, moved or removed.
import { expect, test } from "vitest";
import { planPositions, type Positioned } from "./positions.ts";

const list = (...names: string[]): Positioned[] => names.map((name, at) => ({ name, position: at + 1 }));
const at = (name: string, position: number): Positioned => ({ name, position });

test.each<[string, Positioned[], { name: string; wanted: number } | undefined, Positioned[]]>([
  ["the first of all", [], { name: "x", wanted: 1 }, [at("x", 1)]],
  ["at the front", list("a", "b"), { name: "x", wanted: 1 }, [at("x", 1), at("a", 2), at("b", 3)]],
  ["in the middle", list("a", "b"), { name: "x", wanted: 2 }, [at("x", 2), at("b", 3)]],
  ["beyond the end", list("a", "b"), { name: "x", wanted: 99 }, [at("x", 3)]],
  ["removed", [at("b", 2), at("c", 3)], undefined, [at("b", 1), at("c", 2)]],
  ["equal positions, by name", [at("b", 1), at("a", 1)], undefined, [at("b", 2)]],
  ["nothing to do", list("a", "b"), undefined, []],
])("%s", (_what, others, moved, expected) => {
  expect(planPositions(others, moved)).toEqual(expected);
});
