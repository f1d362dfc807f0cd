// Deployments in stages and replacements of whole clusters under constant load: no request fails. By name: it takes minutes.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { apiAt, tokenOf, type Api, type Named, type Page } from "./support/api.ts";
import { startSteadyLoad, type SteadyLoad } from "./support/steady-load.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const HELLO = join(import.meta.dirname, "..", "..", "examples", "hello");

const DEPLOYMENTS = 20;
/** Deployments before each replacement of a cluster: the old one, and the one that takes its place. */
const REPLACEMENTS: Readonly<Record<number, { old: string; next: string }>> = {
  5: { old: "west", next: "west-2" },
  10: { old: "east", next: "east-2" },
  15: { old: "west-2", next: "west-3" },
};

interface Stat {
  index: number;
  state: string;
  details: string | null;
  instance_guid?: string;
}

/** Other kinds of platforms have one cluster each. */
describe.skipIf(chosenPlatformKind() !== "laptop")("a platform on three clusters", () => {
  let stage: TestPlatform;
  let load: SteadyLoad;
  let api: Api;
  let app: string;

  async function cup(...args: string[]): Promise<string> {
    const { code, output } = await stage.cup(...args);
    expect(code, `cup ${args.join(" ")}\n${output}`).toBe(0);
    return output;
  }

  async function stats(): Promise<Stat[]> {
    const { processes } = await stage.cupJson<{ processes: { type: string; stats: Stat[] }[] }>("app", "shop");
    return processes.find(({ type }) => type === "web")?.stats ?? [];
  }

  /** All instances run, each on one of these clusters and each cluster with two. */
  const untilOn = (...clusters: string[]): Promise<void> =>
    eventually(async () => {
      const places = (await stats()).map(({ state, details }) => (state === "RUNNING" ? details : state));
      expect(places.toSorted()).toEqual(clusters.flatMap((name) => [`on ${name}`, `on ${name}`]).toSorted());
    }, 60_000);

  beforeAll(async () => {
    stage = await startTestPlatform();
    await cup("login", "--api", stage.url);
    for (const name of ["west", "east"]) await cup("clusters", "add", name, "--here");
    await cup("segments", "place", "shared", "--clusters", "all", "--stages", "1,100%", "--soak", "1");
    await cup("push", "shop", "--path", HELLO, "-m", "64M", "-i", "6");
    await untilOn("local", "west", "east");
    api = apiAt(stage.url, tokenOf(stage, "developer"));
    [app = ""] = (await api.call<Page<Named>>("GET", "/v3/apps?names=shop")).resources.map(({ guid }) => guid);
    load = startSteadyLoad({ send: () => stage.get("shop.apps.localhost") });
  }, 240_000);
  afterAll(() => stage?.stop());

  async function deploy(): Promise<void> {
    const before = (await stats()).map((one) => one.instance_guid);
    const relationships = { app: { data: { guid: app } } };
    const { guid } = await api.call<Named>("POST", "/v3/deployments", { relationships });
    await eventually(async () => {
      const { status } = await api.call<{ status: { value: string; reason: string } }>(
        "GET",
        `/v3/deployments/${guid}`,
      );
      expect(status).toMatchObject({ value: "FINALIZED", reason: "DEPLOYED" });
    }, 120_000);
    await eventually(async () => {
      const after = await stats();
      expect(after.map(({ state }) => state)).toEqual(Array<string>(6).fill("RUNNING"));
      expect(after.filter(({ instance_guid: guid }) => before.includes(guid))).toEqual([]);
    }, 60_000);
  }

  /** As docs/many-clusters.md says: add the new one, drain the old one, and take it away. */
  async function replace({ old, next }: { old: string; next: string }): Promise<void> {
    await cup("clusters", "add", next, "--here");
    await cup("clusters", "drain", old);
    await eventually(async () => {
      const clusters = await stage.cupJson<{ name: string; lrps: number }[]>("clusters");
      expect(clusters.find(({ name }) => name === old)?.lrps).toBe(0);
    }, 60_000);
    await cup("clusters", "remove", old);
  }

  test("answers every request through 20 deployments in stages and 3 replacements of a cluster", async () => {
    for (let deployed = 0; deployed < DEPLOYMENTS; deployed++) {
      const replaced = REPLACEMENTS[deployed];
      if (replaced) await replace(replaced);
      await deploy();
      console.log(`${deployed + 1} deployments, ${load.requests()} requests, ${load.failures.length} failed`);
    }
    await load.stop();
    console.log(`replaced clusters: ${load.requests()} requests, ${load.failures.length} failed`);
    expect(load.failures.slice(0, 10)).toEqual([]);
    expect(load.requests()).toBeGreaterThan(DEPLOYMENTS * 20);
    expect((await stage.cupJson<{ name: string }[]>("clusters")).map(({ name }) => name).toSorted()).toEqual([
      "east-2",
      "west-3",
    ]);
  }, 1_200_000);
});
