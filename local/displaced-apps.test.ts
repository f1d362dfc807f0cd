// Which apps a moved home has to build again.
import { expect, test } from "vitest";
import type { LRP } from "../crds/lrp/lrp.ts";
import { describeDisplacedApps, findDisplacedApps } from "./displaced-apps.ts";

const lrp = (name: string, root: string | undefined, kind = "host"): Pick<LRP, "spec"> =>
  ({
    spec: {
      app: { name, guid: `${name}-guid` },
      space: { name: "dev" },
      org: { name: "local" },
      droplet: { kind, ...(root && { root }) },
    },
  }) as unknown as Pick<LRP, "spec">;

test("apps built elsewhere are named once each, with what builds them again", () => {
  const lrps = [
    lrp("worker", "/old/.cupola/data/droplets/a-1"),
    lrp("worker", "/old/.cupola/data/droplets/a-1"),
    lrp("shop", "/old/.cupola/data/droplets/b-1"),
    lrp("here", "/new/data/droplets/c-1"),
    lrp("image", undefined, "docker"),
  ];
  expect(describeDisplacedApps(findDisplacedApps(lrps, "/new/data/droplets"))).toEqual([
    "2 apps were built when this home was at /old/.cupola, and cannot run here until built again:",
    "  cup target -o local -s dev && cup restage shop",
    "  cup target -o local -s dev && cup restage worker",
  ]);
});

test("a home that stayed says nothing", () => {
  expect(
    describeDisplacedApps(findDisplacedApps([lrp("here", "/new/data/droplets/c-1")], "/new/data/droplets")),
  ).toEqual([]);
});
