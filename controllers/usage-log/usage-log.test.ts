// A leader's memory of what the usage log says runs.
import { expect, test } from "vitest";
import type { ProcessUsage } from "../../crds/usage-log/rules.ts";
import type { AppUsageEvent } from "../../crds/usage-log/usage-log.ts";
import { createUsageLedger } from "./usage-log.ts";

const process: ProcessUsage = {
  app: { guid: "A", name: "shop" },
  space: { guid: "S", name: "dev" },
  orgGUID: "O",
  process: { guid: "P", type: "web" },
  isStarted: true,
  instances: 1,
  memoryMB: 64,
  packageState: "STAGED",
};
const at = (time: number) => createUsageLedger(() => new Date(time));
const present = (events: readonly AppUsageEvent[]): string[] =>
  events.map(({ sequence, state, instances }) => `${sequence} ${state.current} ${instances.current}`);

test("a change is recorded once", () => {
  const ledger = at(0);
  expect(present(ledger.observe(process, "1"))).toEqual(["1 STARTED 1"]);
  expect(ledger.observe(process, "2")).toEqual([]);
  expect(present(ledger.observe({ ...process, instances: 4 }, "3"))).toEqual(["2 STARTED 4"]);
  expect(present(ledger.end("process P"))).toEqual(["3 STOPPED 4"]);
  expect(ledger.end("process P")).toEqual([]);
  expect(ledger.openKeys()).toEqual([]);
});

test("the next leader goes on where the log ends", () => {
  const first = at(0);
  const recorded = [...first.observe(process, "1"), ...first.observe({ ...process, instances: 2 }, "2")];
  const next = at(1);
  next.load(recorded.toReversed());
  expect(next.openKeys()).toEqual(["process P"]);
  expect(next.observe({ ...process, instances: 2 }, "2")).toEqual([]);
  expect(present(next.observe({ ...process, instances: 3 }, "3"))).toEqual(["3 STARTED 3"]);
});

test("what one leader did not write any more, the next one writes with the same GUID", () => {
  const [first, next] = [at(0), at(1)];
  const recorded = first.observe(process, "1");
  next.load(recorded);
  const change = { ...process, instances: 5 };
  expect(next.observe(change, "2").map(({ guid }) => guid)).toEqual(first.observe(change, "2").map(({ guid }) => guid));
});
