// Two runs that ended alike are equal, and whatever differs, is lost or is doubled shows.
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../kube/api/object.ts";
import { diffLines, explainDifference, normalise, filterRunObjects, findUnreconciled } from "./end-state.ts";

const GUIDS = ["01a1fc6f-f303-7c11-a391-a0aba841a042", "11a1fc6f-f303-7c11-a391-a0aba841a042"];

/** An app of a run, whose ids and times are those of one time. */
function appOf(prefix: string, time: number, spec: object = {}): KubeObject {
  return {
    apiVersion: "cupola.dev/v1alpha1",
    kind: "App",
    metadata: {
      name: "shop",
      namespace: `${prefix}-org-dev`,
      uid: GUIDS[time] ?? "",
      resourceVersion: String(time),
      generation: 1,
      creationTimestamp: `2026-11-21T00:00:0${time}Z`,
      labels: { "cupola.dev/guid": GUIDS[time] ?? "" },
    },
    spec: { state: "Started", restart: `token-${time}`, ...spec },
    status: {
      observedGeneration: 1,
      revision: `shop-${time + 1}-0123456789`,
      observedRestart: `token-${time}`,
      conditions: [
        {
          type: "Ready",
          status: "True",
          reason: "Reconciled",
          message: "",
          lastTransitionTime: `2026-11-21T00:00:0${time}Z`,
        },
      ],
    },
  };
}

describe("the end of a run", () => {
  const calm = normalise([appOf("calm1", 0)], "calm1");

  test("is equal for equal ends", () => {
    expect(diffLines(calm, normalise([appOf("wild1", 1)], "wild1"))).toEqual({ missing: [], surplus: [] });
  });

  test("is equal whichever controller wrote its condition first", () => {
    const [ready, other] = ["Ready", "OnClusters"].map((type) => ({
      type,
      status: "True",
      reason: "Reconciled",
      message: "",
    }));
    const ended = (conditions: object): KubeObject => ({ ...appOf("calm1", 0), status: { conditions } }) as KubeObject;
    const [one, two] = [
      [ready, other],
      [other, ready],
    ].map((conditions) => normalise([ended(conditions)], "calm1"));
    expect(one).toEqual(two);
  });

  test.each([
    ["a field of the spec", appOf("wild1", 1, { state: "Stopped" }), /spec\.state: calm "Started", chaos "Stopped"/],
    ["a restart that is not in force", appOf("wild1", 1, { restart: "later" }), /isRestarted: calm true, chaos false/],
    [
      "a deletion that never ends",
      { ...appOf("wild1", 1), metadata: { ...appOf("wild1", 1).metadata, deletionTimestamp: "2026-11-21T00:00:01Z" } },
      /going: calm undefined, chaos true/,
    ],
  ])("tells %s", (_what, object, words) => {
    const { missing, surplus } = diffLines(calm, normalise([object], "wild1"));
    expect(explainDifference(missing, surplus).join("\n")).toMatch(words);
  });

  test("reports lost and duplicated objects", () => {
    const twice = normalise([appOf("wild1", 0), appOf("wild1", 1)], "wild1");
    expect(diffLines(calm, twice).surplus).toHaveLength(1);
    const { missing, surplus } = diffLines(calm, []);
    expect(explainDifference(missing, surplus)).toEqual(["  App <run>-org-dev/shop is missing"]);
  });

  test("leaves revisions out that are history", () => {
    const revision = (name: string): KubeObject => ({
      ...appOf("wild1", 1),
      kind: "Revision",
      metadata: { name, namespace: "wild1-org-dev" },
      status: undefined,
    });
    const lines = normalise([appOf("wild1", 1), revision("shop-1-0123456789"), revision("shop-2-0123456789")], "wild1");
    expect(lines.filter((line) => line.includes('"kind":"Revision"'))).toHaveLength(1);
  });

  test.each([
    ["either of two routes born in the same second", 0, 0, true],
    ["the older of two routes, not the younger", 0, 1, false],
  ])("shows %s", (_what, one, other, equal) => {
    const routeOf = (name: string, time: number): KubeObject => ({
      apiVersion: "cupola.dev/v1alpha1",
      kind: "Route",
      metadata: { name, namespace: "wild1-org-dev", creationTimestamp: `2026-11-21T00:00:0${time}Z` },
      ...{ spec: { destinations: [{ app: "shop" }] }, status: { url: name } },
    });
    const routes = [routeOf("one", one), routeOf("other", other)];
    const appShowing = (url: string): string[] =>
      normalise([{ ...appOf("wild1", 0), ...{ status: { url } } }, ...routes], "wild1");
    expect(diffLines(appShowing("one"), appShowing("other")).missing.length === 0).toBe(equal);
  });

  test("is of one run alone", () => {
    expect(filterRunObjects([appOf("wild1", 0), appOf("wild11", 0)], "wild1")).toHaveLength(1);
  });

  test("is not there yet while something is to come", () => {
    const orphan: KubeObject = {
      ...appOf("wild1", 0),
      metadata: {
        ...appOf("wild1", 0).metadata,
        ownerReferences: [{ apiVersion: "v1", kind: "Namespace", name: "gone", uid: "gone" }],
      },
    };
    expect(findUnreconciled([appOf("wild1", 0)])).toEqual([]);
    expect(findUnreconciled([orphan])).toEqual(["App shop has lost its owner"]);
  });

  test("is not reached with an unexpected error", () => {
    const failed = {
      status: { conditions: [{ type: "OnClusters", status: "False", reason: "InternalError", message: "" }] },
    };
    expect(findUnreconciled([{ ...appOf("wild1", 0), ...failed }])).toEqual(["App shop has met an unexpected error"]);
  });

  test("needs a status of a process of a started app alone", () => {
    const process: KubeObject = {
      apiVersion: "cupola.dev/v1alpha1",
      kind: "Process",
      metadata: { name: "shop.web", namespace: "wild1-org-dev", generation: 1 },
      ...{ spec: { appRef: { name: "shop" } } },
    };
    const stopped = { type: "Ready", status: "True", reason: "Stopped", message: "" };
    const ran = { ...process, status: { observedGeneration: 1, runningInstances: 0, conditions: [stopped] } };
    expect(findUnreconciled([appOf("wild1", 0), process])).toEqual(["Process shop.web has no status"]);
    expect(findUnreconciled([appOf("wild1", 0, { state: "Stopped" }), process])).toEqual([]);
    expect(normalise([process], "wild1")).toEqual(normalise([ran], "wild1"));
  });
});
