// The instance of a header's value: the same one while it is there, and few values move when instances come and go.
import { expect, test } from "vitest";
import { createEndpointChooser } from "./endpoint-chooser.ts";
import { chooseByHash } from "./hash-balancing.ts";
import type { Endpoint } from "./routing-table.ts";

const at = (index: number, instanceGUID = `i${index}`): Endpoint =>
  ({ appGUID: "app", processType: "web", port: 8080, index, instanceGUID }) as Endpoint;
const three = [at(0), at(1), at(2)];
const values = Array.from({ length: 300 }, (_none, number) => `user-${number}`);
const idle = { balance: 0, load: () => 0 };
const choose = (endpoints: readonly Endpoint[], value: string): number | undefined =>
  chooseByHash(endpoints, value, idle)?.index;

test("values spread over all instances, each always to the same one, in whatever order they are listed", () => {
  const before = values.map((value) => choose(three, value));
  expect(values.map((value) => choose(three.toReversed(), value))).toEqual(before);
  for (const { index } of three) expect(before.filter((one) => one === index).length).toBeGreaterThan(60);
});

test("a new instance takes values from the others, and moves none between them", () => {
  const moved = values.filter((value) => choose(three, value) !== choose([...three, at(3)], value));
  expect(moved.length).toBeGreaterThan(30);
  expect(new Set(moved.map((value) => choose([...three, at(3)], value)))).toEqual(new Set([3]));
});

test("a restarted instance keeps its values; without instances there is none", () => {
  const restarted = three.map(({ index }) => at(index, `new-${index}`));
  expect(values.map((value) => choose(restarted, value))).toEqual(values.map((value) => choose(three, value)));
  expect(choose([], "a")).toBeUndefined();
});

test("with a balance, an instance far above the average is passed over", () => {
  const [value = ""] = values.filter((one) => choose(three, one) === 0);
  const load = ({ index }: Endpoint): number => (index === 0 ? 6 : 3);
  expect(chooseByHash(three, value, { balance: 1.5, load })?.index).toBe(0);
  expect(chooseByHash(three, value, { balance: 1.4, load })?.index).not.toBe(0);
  expect(chooseByHash(three, value, { balance: 0, load })?.index).toBe(0);
});

test("the chooser hashes requests with the header, and takes turns for those without", () => {
  const chooser = createEndpointChooser();
  const route = { guid: "route", loadBalancing: "hash" } as const;
  const take = (hashed?: string): string => {
    const found = chooser.acquire(route, three, new Set(), hashed);
    return typeof found === "object" ? found.instanceGUID : String(found);
  };
  expect(new Set([1, 2, 3].map(() => take("me"))).size).toBe(1);
  expect(new Set([1, 2, 3].map(() => take())).size).toBe(3);
  const [mine] = three.filter(({ instanceGUID }) => instanceGUID === take("me"));
  chooser.markFailed(mine!);
  expect(take("me")).not.toBe(mine?.instanceGUID);
});
