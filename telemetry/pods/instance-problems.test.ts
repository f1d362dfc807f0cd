// Which problems of instances become log lines: each once, no exits, again after the instance has run.
import { expect, test } from "vitest";
import type { LrpInstance } from "../../crds/lrp/lrp.ts";
import { listNews } from "./instance-problems.ts";

const instance = (state: LrpInstance["state"], details?: string, index = 0): LrpInstance => ({
  index,
  state,
  ready: false,
  ...(details !== undefined && { details }),
});

function saidOver(...statuses: LrpInstance[][]): string[][] {
  const known = new Map<number, string>();
  return statuses.map((instances) => listNews(instances, known).map(({ index, message }) => `${index} ${message}`));
}

test.each<[string, LrpInstance[][], string[][]]>([
  ["a problem is said once", [[instance("Down", "a")], [instance("Down", "a")]], [["0 a"], []]],
  [
    "another one of the same instance is said",
    [[instance("Starting", "a")], [instance("Crashed", "b")]],
    [["0 a"], ["0 b"]],
  ],
  ["each instance has its own", [[instance("Down", "a"), instance("Down", "a", 1)]], [["0 a", "1 a"]]],
  [
    "it is said again after the instance has run",
    [[instance("Crashed", "a")], [instance("Running")], [instance("Crashed", "a")]],
    [["0 a"], [], ["0 a"]],
  ],
  [
    "an exit is not, since the log of the container says it",
    [[instance("Crashed", "APP/PROC/WEB: Exited with status 3; see")]],
    [[]],
  ],
  ["one that runs is not", [[instance("Running")]], [[]]],
])("%s", (_what, statuses, lines) => expect(saidOver(...statuses)).toEqual(lines));
