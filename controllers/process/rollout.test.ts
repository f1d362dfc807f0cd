// The LRPs of a web process during a rollout: which are kept, made and deleted.
import { expect, test } from "vitest";
import type { LRP } from "../../crds/lrp/lrp.ts";
import { anLRP, anApp, aProcess, aRevision, aRollout } from "../../crds/testing/objects.ts";
import { findRolloutVersions, planRolloutStep } from "../shared/rollouts.ts";
import { planRolloutLRPs } from "./rollout.ts";

const content = { description: "", dropletRef: { name: "d1" }, processes: [] };
const app = anApp({ state: "Started" }, { status: { revision: "shop-1" } });
const process = aProcess({ instances: 2 });
const history = {
  rollouts: [aRollout()],
  revisions: [aRevision(1, content), aRevision(2, content), aRevision(3, { ...content, rollout: "r1" })],
};

const lrp = (revision: string, instances: number, states: string, metadata: object = {}): LRP =>
  anLRP(
    { metadata: { name: `lrp-${revision}`, ...metadata }, spec: { revision, instances } },
    {
      instances: [...states].map((state, index) => ({
        index,
        state: state === "r" ? "Running" : "Starting",
        ready: state === "r",
      })),
    },
  );

function plan(existing: LRP[]): { lrps: [string | undefined, unknown][]; status: unknown; ready: unknown } {
  const versions = findRolloutVersions(app, history, existing)!;
  const result = planRolloutLRPs(process, {
    versions,
    step: planRolloutStep(versions, history, { lrps: existing, wanted: 2 }),
    existing,
    makeLRP: (revision, instances) => ({ metadata: { name: `lrp-${revision.spec.version}` }, spec: { instances } }),
  });
  const lrps = (result.children ?? []).map((child): [string | undefined, unknown] => [
    child.metadata.name,
    (child["spec"] as { instances: number }).instances,
  ]);
  return { lrps, status: result.status, ready: result.ready };
}

test.each<[string, LRP[], [string, number][]]>([
  ["the new one is made beside the old", [lrp("1", 2, "rr")], [["lrp-1", 2], ["lrp-3", 1]]],
  ["one is ready", [lrp("1", 2, "rr"), lrp("3", 1, "r")], [["lrp-1", 1], ["lrp-3", 2]]],
  ["the app's version stays at no instances, to return to", [lrp("1", 1, "r"), lrp("3", 2, "rr")], [["lrp-1", 0], ["lrp-3", 2]]],
  ["a version between goes when it has no instances", [lrp("1", 2, "rr"), lrp("2", 1, "s"), lrp("3", 1, "r")], [["lrp-1", 1], ["lrp-3", 2]]],
  ["one that is being deleted is left alone", [lrp("1", 2, "rr"), lrp("3", 1, "r", { deletionTimestamp: "x" })], [["lrp-1", 2]]],
])("%s", (_what, existing, expected) => expect(plan(existing).lrps).toEqual(expected)); // prettier-ignore

test("the process counts the instances of all versions, and names the app's", () => {
  const planned = plan([lrp("1", 1, "r"), lrp("3", 2, "rs")]);
  expect(planned.status).toEqual({ runningInstances: 2, lrp: "lrp-1", revision: "shop-1" });
  expect(planned.ready).toEqual({
    status: "True",
    reason: "Running",
    message: "2 of 2 instances run; rollout r1 is under way",
  });
});
