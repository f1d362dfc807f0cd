// Objects that the bounds on history let go.
import { expect, test } from "vitest";
import { aDroplet } from "../../crds/testing/objects.ts";
import { planExcess } from "./history-limits.ts";

const at = (day: number): ReturnType<typeof aDroplet> => {
  const droplet = aDroplet({}, `d${day}`);
  droplet.metadata.creationTimestamp = `2026-01-0${day}T00:00:00Z`;
  return droplet;
};

test("keeps the newest, the protected and those that are going already", () => {
  const droplets = [1, 2, 3, 4, 5, 6, 7].map(at);
  const names = (list: { metadata: { name: string } }[]): string[] => list.map((droplet) => droplet.metadata.name);
  expect(names(planExcess(droplets, 5, () => false))).toEqual(["d1", "d2"]);
  expect(names(planExcess(droplets, 5, (droplet) => droplet.metadata.name === "d1"))).toEqual(["d2"]);
  const [first, ...rest] = droplets;
  expect(
    names(
      planExcess(
        [{ ...first!, metadata: { ...first!.metadata, deletionTimestamp: "2026-01-09T00:00:00Z" } }, ...rest],
        5,
        () => false,
      ),
    ),
  ).toEqual(["d2"]);
});
