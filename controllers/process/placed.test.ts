// A process on several clusters of which one cannot start it.
import { expect, test } from "vitest";
import type { LRP } from "../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { anApp, anLRP, aProcess, aRevision, lrpSpec, makeObject } from "../../crds/testing/objects.ts";
import type { ReconcileResult, RemoteCluster } from "../../kube/controller/controller.ts";
import { refusePullSecret } from "../shared/refuse-elsewhere.ts";
import { reconcilePlaced } from "./placed.ts";

const assign = (cluster: string, index: number): object => ({
  cluster,
  indexes: [{ start: index, end: index }],
  state: "Active",
  reason: "Chosen",
});
const decision = makeObject(PlacementDecision, "shop.web", {
  spec: {
    segment: "shared",
    app: "g",
    processType: "web",
    assignments: ["local", "west", "east"].map((name, index) => assign(name, index)),
  },
});
const content = { description: "", dropletRef: { name: "d1" }, processes: [] };
const former = (): LRP[] => [
  anLRP({ metadata: { name: "lrp-1" }, spec: { ...lrpSpec(), revision: "1", instances: 1 } }),
];

/** West and east get an image with a credential of the app. */
function start(existing: { local?: LRP[]; west?: LRP[] }): ReconcileResult {
  return reconcilePlaced({
    process: aProcess({ instances: 3 }),
    app: anApp({ state: "Started" }, { status: { revision: "shop-2" } }),
    decision,
    history: { rollouts: [], revisions: [aRevision(1, content), aRevision(2, content)] },
    guid: "g",
    local: existing.local ?? [],
    clusters: {
      markers: undefined,
      names: () => ["west", "east"],
      find: (name) => ({ listOwned: () => (name === "west" ? (existing.west ?? []) : []) }) as unknown as RemoteCluster,
    },
    findQuota: () => undefined,
    planNamespace: () => undefined,
    makeLRP: (_revision, { indexes }, place) => {
      if (place.owner !== undefined) refusePullSecret({ imagePullSecretRef: { name: "shop-pull" } });
      return { metadata: { name: "lrp-2" }, spec: { indexes } };
    },
  });
}

test("it starts where it can, and the condition names the clusters that cannot", () => {
  const { children, remote, ready } = start({});
  expect(children?.map(({ metadata }) => metadata.name)).toEqual(["lrp-2"]);
  expect(remote?.children).toEqual({});
  expect(ready).toMatchObject({ status: "False", reason: "PullSecretElsewhere", isFailure: true });
  expect(ready?.message).toMatch(/^0 of 3 instances run; on west, east it does not start: .* cluster local alone/);
});

test("a restart ends the former instances where the new ones can be made, and leaves the others alone", () => {
  const { children, remote } = start({ local: former(), west: former() });
  expect([children, remote?.children]).toEqual([[], {}]);
});
