// Processes and instances as CF shows them.
import { describe, expect, test } from "vitest";
import { aDroplet, anApp, anLRP, aProcess, aRevision, aSpace } from "../../crds/testing/objects.ts";
import type { Process } from "../../crds/process/process.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { cacheOf } from "../cache/testing/cache-of.ts";
import { type CommandView, HIDDEN, HIDDEN_IN_LISTS, instancesOf, isStarting, presentProcess } from "./present.ts";

describe("a process", () => {
  const app = anApp({ droplet: { name: "d1" } });
  const droplet = aDroplet({ processTypes: { web: "node server.js" } });
  const present = (process: Process, show: CommandView = "shown"): object =>
    presentProcess(cacheOf(app, droplet, aSpace()), process, "https://api", show);

  test("of type web has its app's GUID and the droplet's command", () =>
    expect(present(aProcess({ type: "web" }))).toMatchObject({
      guid: "uid-shop",
      type: "web",
      command: "node server.js",
      instances: 1,
      user: "vcap",
      relationships: { app: { data: { guid: "uid-shop" } }, revision: null },
      links: { self: { href: "https://api/v3/processes/uid-shop" }, space: { href: "https://api/v3/spaces/uid-dev" } },
    }));

  test.each<[string, object, CommandView, string | null]>([
    ["its own command wins", { type: "web", command: "run" }, "shown", "run"],
    ["a type that the droplet does not name has none", { type: "worker" }, "shown", null],
    ["a type named like a property of every object has none", { type: "constructor" }, "shown", null],
    ["hidden from callers who may not see secrets", { type: "web" }, "hidden", HIDDEN],
    ["hidden in lists", { type: "web" }, "list", HIDDEN_IN_LISTS],
  ])("command: %s", (_what, spec, show, command) => expect(present(aProcess(spec), show)).toMatchObject({ command }));

  test.each<[string, object, object]>([
    ["web without a check", { type: "web" }, { type: "port", data: { timeout: null, invocation_timeout: null } }],
    ["worker without a check", { type: "worker" }, { type: "process" }],
    [
      "http without an endpoint",
      { type: "web", healthCheck: { type: "http", timeoutSeconds: 90 } },
      { type: "http", data: { timeout: 90, endpoint: "/" } },
    ],
  ])("health check of %s", (_what, spec, expected) =>
    expect(present(aProcess(spec))).toMatchObject({ health_check: expected }),
  );
});

describe("instances", () => {
  const started = { state: "Started" };
  const lrp = (status: object, version = 2): KubeObject =>
    anLRP(
      { kind: "LRP", metadata: { name: "shop-web", namespace: "acme-dev" }, spec: { revision: String(version) } },
      status,
    );
  const states = (app: KubeObject, ...more: KubeObject[]): string[] => {
    const process = aProcess({ type: "web", instances: 2 }, { status: { lrp: "shop-web" } });
    return instancesOf(
      cacheOf(app, aRevision(2, { description: "started", dropletRef: { name: "d1" }, processes: [] }), ...more),
      process,
    ).map(({ cfState }) => cfState);
  };
  const running = { instances: [{ index: 0, state: "Running", ready: true }] };

  test("of a detached process are those that run, however many and of whatever revision", () => {
    const app = anApp(started, { status: { revision: "shop-2" } });
    const status = { instances: [0, 1, 2].map((index) => ({ index, state: "Running", ready: true })) };
    const process = aProcess({ type: "web", instances: 2, detached: true }, { status: { lrp: "shop-web" } });
    const found = instancesOf(cacheOf(app, lrp(status, 1)), process);
    expect(found.map(({ index, cfState }) => [index, cfState])).toEqual([0, 1, 2].map((index) => [index, "RUNNING"]));
  });

  test.each<[string, KubeObject, KubeObject[], string[]]>([
    ["of a stopped app are down", anApp({}), [lrp(running)], ["DOWN", "DOWN"]],
    [
      "are starting until the runner reports",
      anApp(started, { status: { revision: "shop-2" } }),
      [lrp({})],
      ["STARTING", "STARTING"],
    ],
    [
      "that the runner does not report are down",
      anApp(started, { status: { revision: "shop-2" } }),
      [lrp(running)],
      ["RUNNING", "DOWN"],
    ],
    [
      "of an older version are not shown while a restart is pending",
      anApp({ ...started, restart: "b" }, { status: { revision: "shop-2", observedRestart: "a" } }),
      [lrp(running)],
      ["STARTING", "STARTING"],
    ],
    [
      "of another revision's LRP are not shown",
      anApp(started, { status: { revision: "shop-2" } }),
      [lrp(running, 1)],
      ["STARTING", "STARTING"],
    ],
  ])("%s", (_what, app, more, expected) => expect(states(app, ...more)).toEqual(expected));

  test("of an app that cannot start say why", () => {
    const ready = {
      type: "Ready",
      status: "False",
      reason: "NoDroplet",
      message: "push a droplet",
      observedGeneration: 3,
    };
    const app = anApp(started, { metadata: { generation: 3 }, status: { conditions: [ready] } });
    expect(instancesOf(cacheOf(app), aProcess({ type: "web" }))).toEqual([
      { index: 0, cfState: "DOWN", details: "push a droplet" },
    ]);
    expect(isStarting(cacheOf(app), aProcess({ type: "web" }))).toBe(false);
  });
});
