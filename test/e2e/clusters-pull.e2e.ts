// A cluster on this machine that the platform does not call: its agent calls. One app with one numbering on both, scaled, and ended.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const HELLO = join(import.meta.dirname, "..", "..", "examples", "hello");

interface Stat {
  state: string;
  details: string | null;
}

/** Other kinds of platforms have one cluster each. */
describe.skipIf(chosenPlatformKind() !== "laptop")("a second cluster, in mode pull", () => {
  let stage: TestPlatform;

  async function cup(...args: string[]): Promise<string> {
    const { code, output } = await stage.cup(...args);
    expect(code, `cup ${args.join(" ")}\n${output}`).toBe(0);
    return output;
  }
  /** Where the instances run, sorted. */
  const places = async (): Promise<(string | null)[]> => {
    const { processes } = await stage.cupJson<{ processes: { type: string; stats: Stat[] }[] }>("app", "shop");
    const stats = processes.find(({ type }) => type === "web")?.stats ?? [];
    return stats.map(({ state, details }) => (state === "RUNNING" ? details : state)).toSorted();
  };

  beforeAll(async () => {
    stage = await startTestPlatform();
    await cup("login", "--api", stage.url);
  });
  afterAll(() => stage?.stop());

  test("is added by one command", async () => {
    expect(await cup("clusters", "add", "west", "--here", "--pull")).toContain("Cluster west is ready");
    expect(await cup("clusters")).toMatch(/west +pull +yes/);
    await cup("segments", "place", "shared", "--clusters", "all");
  });

  test("gets half of the instances of a new app, which answer requests", async () => {
    await cup("push", "shop", "--path", HELLO, "-m", "64M", "-i", "4");
    await eventually(async () => expect(await places()).toEqual(["on local", "on local", "on west", "on west"]));
    const answered = await Promise.all(Array.from({ length: 8 }, () => stage.get("shop.apps.localhost")));
    expect(answered.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
  });

  test("scales, and is empty once the app is deleted", async () => {
    await cup("scale", "shop", "-i", "2");
    await eventually(async () => expect(await places()).toEqual(["on local", "on west"]));
    await cup("delete", "shop", "-f", "-r");
    await eventually(async () => expect((await stage.cupJson<{ lrps: number }[]>("clusters"))[0]?.lrps).toBe(0));
    expect(await cup("clusters", "remove", "west")).toContain("Cluster west is removed");
  });
});
