// Numbers of tasks: one made through the API keeps the number in its name, any other gives way.
import { expect, test } from "vitest";
import { makeObject } from "../testing/objects.ts";
import { nextSequence, planSequence, sequenceInName, taskObjectName } from "./sequence.ts";
import { Task } from "./task.ts";

function aTask(name: string, sequenceID?: number, createdAt = "2026-01-01T00:00:00Z"): Task {
  return makeObject(Task, name, {
    spec: { appRef: { name: "shop" }, command: "x" },
    metadata: { creationTimestamp: createdAt },
    ...(sequenceID !== undefined && { status: { sequenceID } }),
  });
}

test.each([
  ["shop.7", 7],
  ["shop.0", undefined],
  ["shop.07", undefined],
  ["shop.x", undefined],
  ["shop.7.1", undefined],
  ["shopping.7", undefined],
  ["migrate", undefined],
])("the number in the name %s is %s", (name, number) => expect(sequenceInName(aTask(name))).toBe(number));

test("the name that the API gives has the number", () =>
  expect(sequenceInName(aTask(taskObjectName("shop", 12)))).toBe(12));

test("the next number is above all that are known", () => {
  expect(nextSequence([])).toBe(1);
  expect(nextSequence([aTask("shop.2"), aTask("migrate", 5), aTask("new")])).toBe(6);
});

test.each<[string, Task, Task[], number]>([
  ["a number in the name stays", aTask("shop.2"), [aTask("migrate", 2)], 2],
  ["a free number stays", aTask("migrate", 3), [aTask("shop.2")], 3],
  ["the first one gets the next number", aTask("migrate"), [aTask("shop.2")], 3],
  ["one in a name wins", aTask("migrate", 2), [aTask("shop.2"), aTask("shop.3")], 4],
  ["the older one wins", aTask("migrate", 2, "2026-01-02T00:00:00Z"), [aTask("older", 2)], 3],
  ["the older one does not give way", aTask("older", 2), [aTask("migrate", 2, "2026-01-02T00:00:00Z")], 2],
])("%s", (_title, task, others, number) => expect(planSequence(task, [...others, task])).toBe(number));
