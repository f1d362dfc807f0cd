// Which droplets are in use.
import { expect, test } from "vitest";
import type { LRP } from "../../crds/lrp/lrp.ts";
import { aDroplet, anApp, aRevision } from "../../crds/testing/objects.ts";
import { planDropletsInUse } from "./plan.ts";

test("a droplet is in use by an app, by the revision in force, by an LRP", () => {
  const revision = (version: number, name: string): ReturnType<typeof aRevision> =>
    aRevision(version, { description: "", dropletRef: { name }, processes: [] });
  const lrp = { spec: { droplet: { guid: "uid-runs" } } } as LRP;
  const inUse = planDropletsInUse(
    [anApp({ droplet: { name: "current" } }, { status: { revision: "shop-2" } })],
    [revision(1, "before"), revision(2, "in-force")],
    [lrp],
  );
  expect(["current", "in-force", "runs", "before"].map((name) => inUse(aDroplet({}, name)))).toEqual([
    true,
    true,
    true,
    false,
  ]);
});
