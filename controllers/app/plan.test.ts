// The planned processes, Revisions and status of an App.
import { describe, expect, test } from "vitest";
import { aDroplet, anApp, aProcess, aRevision, aRollout, aRoute } from "../../crds/testing/objects.ts";
import { planDroplet, planMissingProcesses, planOldRevisions, planAppStatus } from "./plan.ts";

const later = new Date("2026-01-01T00:01:00Z");
const spec = { dropletRef: { name: "d1" }, description: "", processes: [] };

describe("missing processes", () => {
  const names = (drafts: { metadata: { name?: string } }[]): (string | undefined)[] =>
    drafts.map((draft) => draft.metadata.name);

  test("web and the droplet's types, of the spec appRef and type only", () => {
    const droplet = aDroplet({ processTypes: { web: "", worker: "", "Nightly Job": "" } });
    const { drafts, waitMs } = planMissingProcesses(anApp(), "guid", { processes: [], droplet, now: later });
    expect(waitMs).toBe(0);
    expect(names(drafts)).toEqual(["shop.web", "shop.worker", expect.stringMatching(/^shop\.nightly-job-.{5}$/)]);
    expect(drafts[1]?.["spec"]).toEqual({ appRef: { name: "shop" }, type: "worker" });
  });
  test("a young app's are waited for, since a Process may follow in the same apply", () => {
    expect(
      planMissingProcesses(anApp(), "guid", {
        processes: [],
        droplet: undefined,
        now: new Date("2026-01-01T00:00:00.500Z"),
      }),
    ).toEqual({ drafts: [], waitMs: 1500 });
  });
  test("none when all are there", () => {
    expect(
      planMissingProcesses(anApp(), "guid", {
        processes: [aProcess()],
        droplet: aDroplet(),
        now: new Date("2026-01-01T00:00:00Z"),
      }),
    ).toEqual({ drafts: [], waitMs: 0 });
  });
});

describe("outcome", () => {
  const revision = aRevision(2, spec);
  const history = { revisions: [revision], rollouts: [] };
  const started = { state: "Started", droplet: { name: "d1" } };

  test("a new revision is made and put in force", () => {
    const outcome = planAppStatus(anApp({ ...started, restart: "r" }), "guid", {
      revisions: [],
      rollouts: [],
      isStartDue: true,
      snapshot: { next: { ...revision.spec, version: 1 } },
      routes: [],
    });
    expect(outcome.revision?.metadata).toMatchObject({
      namespace: "acme-dev",
      name: expect.stringMatching(/^shop-1-[0-9a-f]{10}$/) as string,
      labels: { "cupola.dev/app-guid": "guid" },
    });
    expect(outcome.status).toEqual({
      name: "shop",
      revision: outcome.revision?.metadata.name,
      observedRestart: "r",
      url: undefined,
    });
  });
  test("a reused one is put in force", () => {
    expect(
      planAppStatus(anApp(started), "guid", {
        ...history,
        isStartDue: true,
        snapshot: { reuse: revision },
        routes: [],
      }),
    ).toEqual({ status: { name: "shop", revision: "shop-2", url: undefined } });
  });
  test("a stopped app has none", () => {
    expect(
      planAppStatus(anApp({}, { status: { revision: "shop-2" } }), "guid", {
        ...history,
        isStartDue: false,
        routes: [],
      }).status.revision,
    ).toBeUndefined();
  });
  test("without a snapshot nothing changes, and the URL is the oldest route's", () => {
    const routes = [
      aRoute(
        { destinations: [{ app: "shop" }] },
        { metadata: { name: "b", creationTimestamp: "2026-01-02T00:00:00Z" }, status: { url: "b.example" } },
      ),
      aRoute({ destinations: [{ app: "shop" }] }, { metadata: { name: "a" }, status: { url: "a.example" } }),
      aRoute(
        { destinations: [{ app: "other" }] },
        { metadata: { name: "c", creationTimestamp: "2025-01-02T00:00:00Z" }, status: { url: "c.example" } },
      ),
    ];
    expect(
      planAppStatus(anApp(started, { status: { revision: "shop-2" } }), "guid", {
        ...history,
        isStartDue: false,
        routes,
      }),
    ).toEqual({ status: { name: "shop", revision: "shop-2", url: "a.example" } });
  });
});

describe("with a rollout", () => {
  const running = aRevision(2, spec);
  const made = aRevision(3, { ...spec, rollout: "r1" });
  const app = anApp({ state: "Started", droplet: { name: "d2" } }, { status: { revision: "shop-2" } });

  test("its revision is made beside the running one", () => {
    const outcome = planAppStatus(app, "guid", {
      revisions: [running],
      rollouts: [aRollout()],
      isStartDue: false,
      snapshot: { next: made.spec },
      routes: [],
    });
    expect(outcome.revision?.metadata.name).toMatch(/^shop-3-/);
    expect(outcome.status.revision).toBe("shop-2");
  });
  test.each<[string, object, string]>([
    ["under way: the running one stays", { state: "Deploying", revision: "shop-3" }, "shop-2"],
    ["its last instance runs: the app runs the new one", { state: "Finishing", finalRevision: "shop-3" }, "shop-3"],
    ["canceled: the running one stays", { state: "Canceled", finalRevision: "shop-2" }, "shop-2"],
    ["over, and the app has started anew since", { state: "Deployed", finalRevision: "shop-1" }, "shop-2"],
  ])("%s", (_what, status, revision) => {
    const state = { revisions: [running, made], rollouts: [aRollout({}, { status })], isStartDue: false, routes: [] };
    expect(planAppStatus(app, "guid", state).status.revision).toBe(revision);
  });
  test.each<[string, object, object, string | undefined]>([
    ["it gives the app its droplet", { droplet: { name: "d3" } }, {}, "d3"],
    ["canceled, the app gets its former droplet", { droplet: { name: "d3" }, cancelled: true }, {}, "d1"],
    [
      "canceled, the app gets the droplet that the rollout names",
      { previousDroplet: { name: "d0" }, cancelled: true },
      {},
      "d0",
    ],
    [
      "canceled too late: its droplet stays",
      { droplet: { name: "d3" }, cancelled: true },
      { state: "Finishing", revision: "shop-3", finalRevision: "shop-3" },
      "d3",
    ],
    ["over: the app's own choice", { droplet: { name: "d3" } }, { state: "Deployed" }, undefined],
    ["that returns to a revision: its droplet", { revision: { name: "shop-2" } }, {}, "d1"],
  ])("%s", (_what, rolloutSpec, status, droplet) =>
    expect(
      planDroplet(app, { revisions: [running, made], rollouts: [aRollout(rolloutSpec, { status })] })?.droplet.name,
    ).toBe(droplet),
  );
});

test("a hundred revisions that cf shows are kept, the one in force always, and Secrets that any kept one names", () => {
  const env = (name: string): object => ({ env: [{ name: "A", valueFrom: { secretKeyRef: { name, key: "A" } } }] });
  const revisions = Array.from({ length: 104 }, (_, at) =>
    aRevision(at + 1, { ...spec, release: at + 1, ...env(at < 3 ? "old" : "shared") }),
  );
  const { revisions: old, secrets } = planOldRevisions(
    anApp({ state: "Started" }, { status: { revision: "shop-2" } }),
    revisions,
  );
  expect(old.map((revision) => revision.spec.version)).toEqual([4, 3, 1]);
  expect(secrets).toEqual([]);
  expect(planOldRevisions(anApp(), revisions).secrets).toEqual(["old"]);
});

test("of restarts with nothing new the last five revisions are kept, and the one that cf shows", () => {
  const revisions = Array.from({ length: 9 }, (_, at) => aRevision(at + 1, { ...spec, release: 1 }));
  const { revisions: old } = planOldRevisions(anApp({}, { status: { revision: "shop-9" } }), revisions);
  expect(old.map((revision) => revision.spec.version)).toEqual([4, 3, 2]);
});
