// Members of a process in usage events.
import { expect, test } from "vitest";
import { aDroplet, anApp, aProcess } from "../testing/objects.ts";
import { toProcessUsage, toUsageBuildpack } from "./process-usage.ts";
import { UsageLog, type AppUsageEvent } from "./usage-log.ts";

const place = { space: { guid: "S", name: "dev" }, orgGUID: "O" };

test("a process of a built app", () => {
  const [app, process] = [anApp({ state: "Started" }), aProcess({ instances: 2, memoryMB: 64 })];
  const droplet = aDroplet({ buildpacks: [{ name: "https://ann:s3cret@git.example/pack" }, { name: "ruby" }] });
  expect(toProcessUsage({ process, app, droplet }, place)).toEqual({
    ...place,
    app: { guid: "uid-shop", name: "shop" },
    process: { guid: "uid-shop", type: "web" },
    buildpack: { name: "https://***:***@git.example/pack" },
    isStarted: true,
    instances: 2,
    memoryMB: 64,
    packageState: "STAGED",
  });
});

test("a process of an app without a droplet", () => {
  const usage = toProcessUsage({ process: aProcess({ type: "worker" }), app: anApp(), droplet: undefined }, place);
  expect(usage).toMatchObject({ process: { guid: "uid-shop.web" }, isStarted: false, packageState: "PENDING" });
  expect(usage).not.toHaveProperty("buildpack");
});

test("a UsageLog takes the name of every buildpack, longer as it is without its password", () => {
  const { buildpack } = toUsageBuildpack(`https://a@git.example/${"x".repeat(1_000)}`);
  expect(buildpack?.name).toHaveLength(1_024);
  const event = {
    guid: "E",
    sequence: 1,
    at: "2026-01-01T00:00:00Z",
    state: { current: "STAGING_STARTED", previous: "STAGING" },
    app: { guid: "A", name: "shop" },
    build: { guid: "B" },
    ...place,
    buildpack,
    memoryMB: { current: 1, previous: 1 },
    instances: { current: 1, previous: 1 },
    packageState: { current: "READY", previous: "READY" },
  } satisfies AppUsageEvent;
  expect(UsageLog.spec.safeParse({ writer: "w", events: [event] }).error).toBeUndefined();
});
