// A second cluster on this machine, as docs/many-clusters.md shows: one app with one numbering on both, scaled, restarted, rolled, lost and back.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { succeed } from "./broken-apps/doors.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const HELLO = join(import.meta.dirname, "..", "..", "examples", "hello");

const noCf = whyNoCf();
if (noCf) console.log(`stages by cf skipped: ${noCf}`);

interface Stat {
  index: number;
  state: string;
  details: string | null;
  instance_guid?: string;
}

/** Other kinds of platforms have one cluster each. */
describe.skipIf(chosenPlatformKind() !== "laptop")("a second cluster", () => {
  let stage: TestPlatform;

  async function cup(...args: string[]): Promise<string> {
    const { code, output } = await stage.cup(...args);
    expect(code, `cup ${args.join(" ")}\n${output}`).toBe(0);
    return output;
  }

  const stats = async (): Promise<Stat[]> => {
    const { processes } = await stage.cupJson<{ processes: { type: string; stats: Stat[] }[] }>("app", "shop");
    return processes.find(({ type }) => type === "web")?.stats ?? [];
  };
  /** Clusters of the instances that run, by index. */
  const places = async (): Promise<(string | null)[]> =>
    (await stats()).map(({ state, details }) => (state === "RUNNING" ? details : state));
  const count = (all: readonly (string | null)[], one: string): number => all.filter((each) => each === one).length;
  /** The newest version with instances on each cluster. */
  async function revisions(): Promise<{ local: number; west: number }> {
    const { output } = await stage.kubectl("get", "placementdecisions", "shop.web", "-n", "local-dev", "-o", "json");
    const { status } = JSON.parse(output) as {
      status: { clusters: { name: string; revision: string; wanted: number }[] };
    };
    const newest = (cluster: string): number =>
      Math.max(
        ...status.clusters
          .filter(({ name, wanted }) => name === cluster && wanted > 0)
          .map(({ revision }) => Number(revision)),
      );
    return { local: newest("local"), west: newest("west") };
  }
  const guids = async (): Promise<(string | undefined)[]> => (await stats()).map((one) => one.instance_guid);

  beforeAll(async () => {
    stage = await startTestPlatform();
    await cup("login", "--api", stage.url);
  });
  afterAll(() => stage?.stop());

  test("is added by one command, and a segment uses it by another", async () => {
    expect(await cup("clusters", "add", "west", "--here")).toContain("Cluster west is ready");
    expect(await cup("clusters")).toMatch(/west +push +yes/);
    expect(await cup("segments", "place", "shared", "--clusters", "all")).toContain("all clusters");
  });

  test("gets half of the instances of a new app, under one numbering", async () => {
    await cup("push", "shop", "--path", HELLO, "-m", "64M", "-i", "4");
    await eventually(async () => {
      const all = await places();
      expect([count(all, "on local"), count(all, "on west")]).toEqual([2, 2]);
    });
  });

  test("answers requests, and its lines are in the app's log", async () => {
    const answered = await Promise.all(Array.from({ length: 8 }, () => stage.get("shop.apps.localhost")));
    expect(answered.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    await eventually(async () => {
      const log = await cup("logs", "shop", "--recent");
      for (const index of [0, 1, 2, 3]) expect(log).toContain(`[APP/PROC/WEB/${index}]`);
    });
  });

  test("scaling to 7 and to 2 ends and restarts no other instance", async () => {
    const before = await guids();
    await cup("scale", "shop", "-i", "7");
    await eventually(async () => expect((await places()).filter((place) => place?.startsWith("on "))).toHaveLength(7));
    expect((await guids()).slice(0, 4)).toEqual(before);
    await cup("scale", "shop", "-i", "2");
    await eventually(async () => expect(await guids()).toEqual(before.slice(0, 2)));
  });

  test("variables reach both clusters with a restart", async () => {
    await cup("set-env", "shop", "COLOUR", "blue");
    await cup("restart", "shop");
    await eventually(async () => {
      const all = await places();
      expect([count(all, "on local"), count(all, "on west")]).toEqual([1, 1]);
    });
  });

  test("a rolling deployment replaces the instances of both, and requests go on", async () => {
    const before = await guids();
    let failed = 0;
    let isDone = false;
    const load = (async () => {
      while (!isDone) if ((await stage.get("shop.apps.localhost")).status !== 200) failed++;
    })();
    await cup("push", "shop", "--path", HELLO, "--strategy", "rolling");
    isDone = true;
    await load;
    const after = await guids();
    expect([after.length, failed]).toEqual([2, 0]);
    expect(before.filter((guid) => after.includes(guid))).toEqual([]);
  });

  test.skipIf(noCf)(
    "a deployment in stages pauses after the first cluster, and goes on by cf continue-deployment",
    async () => {
      await cup("segments", "place", "shared", "--clusters", "all", "--stages", "1,100%", "--approval", "stage");
      const cf = cfOn(stage);
      await succeed(cf("api", stage.url));
      await succeed(cf("auth", "developer"));
      await succeed(cf("target", "-o", "local", "-s", "dev"));
      const before = await revisions();
      await succeed(cf("restart", "shop", "--strategy", "rolling", "--no-wait"));
      await eventually(async () => expect((await cf("app", "shop")).output).toMatch(/PAUSED/i));
      const half = await revisions();
      expect(half.west).toBe(before.west);
      expect(half.local).toBeGreaterThan(before.local);
      await succeed(cf("continue-deployment", "shop"));
      await eventually(async () => {
        expect(await revisions()).toEqual({ local: half.local, west: half.local });
        expect((await stats()).map(({ state }) => state)).toEqual(["RUNNING", "RUNNING"]);
      });
      await cup("segments", "place", "shared", "--clusters", "all", "--stages", "none");
    },
  );

  test("when it is lost its instances are down, the others serve, and it comes back", async () => {
    await cup("clusters", "stop", "west");
    await eventually(async () => expect(await cup("clusters")).toMatch(/west +push +no/));
    await eventually(async () => expect(count(await places(), "DOWN")).toBe(1));
    expect((await stats()).find(({ state }) => state === "DOWN")?.details).toContain("cluster west unreachable since");
    await eventually(async () => expect((await stage.get("shop.apps.localhost")).status).toBe(200));
    await cup("clusters", "start", "west");
    await eventually(async () => expect((await places()).toSorted()).toEqual(["on local", "on west"]));
  });

  test("explain says why each cluster has instances, or has none", async () => {
    await cup("clusters", "cordon", "west");
    const explained = await cup("placement", "explain", "shop");
    expect(explained).toMatch(/^local +\d.* holds them, and takes new ones$/m);
    expect(explained).toMatch(/^west +\d/m);
    await cup("clusters", "uncordon", "west");
  });

  test("a drain moves its instances new first: requests go on, and each index stays", async () => {
    let failed = 0;
    let sent = 0;
    let isDone = false;
    const load = (async () => {
      while (!isDone) {
        sent++;
        if ((await stage.get("shop.apps.localhost")).status !== 200) failed++;
      }
    })();
    expect(await cup("clusters", "drain", "west")).toContain("Nothing is placed on cluster west any more");
    isDone = true;
    await load;
    expect([failed, sent > 10]).toEqual([0, true]);
    await eventually(async () => {
      expect((await stats()).map(({ index, state }) => `${index} ${state}`)).toEqual(["0 RUNNING", "1 RUNNING"]);
      expect((await stage.cupJson<{ lrps: number }[]>("clusters"))[0]?.lrps).toBe(0);
    });
    await cup("clusters", "uncordon", "west");
  });

  test("a restart after its segment changed moves an app, as in CF, and nothing moves before", async () => {
    await cup("segments", "place", "shared", "--clusters", "cupola.dev/cluster=west");
    const before = await guids();
    expect(before).toHaveLength(2);
    await cup("restart", "shop");
    await eventually(async () => {
      const explained = await stage.cupJson<{ clusters: { cluster: string; indexes: number[] }[] }>(
        "placement",
        "explain",
        "shop",
      );
      expect(explained.clusters.find(({ cluster }) => cluster === "west")?.indexes).toEqual([0, 1]);
      expect((await stats()).map(({ state }) => state)).toEqual(["RUNNING", "RUNNING"]);
    });
  });

  test("a task of the app runs on a cluster of its segment, with its output and its exit", async () => {
    const tasks = async (): Promise<{ state: string; cluster: string | undefined }[]> => {
      const { output } = await stage.kubectl("get", "tasks.cupola.dev", "-A", "-o", "json");
      const { items } = JSON.parse(output) as { items: { status?: { state: string; cluster?: string } }[] };
      return items.map(({ status }) => ({ state: status?.state ?? "", cluster: status?.cluster }));
    };
    expect(await cup("run", "shop", "--", "echo hello from the other cluster")).toContain(
      "hello from the other cluster",
    );
    expect(await tasks()).toEqual([{ state: "Succeeded", cluster: "west" }]);
    expect((await stage.cup("run", "shop", "--", "exit 7")).output).toMatch(/status 7|exit.* 7/i);
  });

  test("a lost cluster's instances start elsewhere when an operator says so, and end there when it is back", async () => {
    await cup("segments", "place", "shared", "--clusters", "all");
    await cup("clusters", "stop", "west");
    await eventually(async () => expect(await cup("clusters")).toMatch(/west +push +no/));
    expect((await stage.cup("clusters", "drain", "west")).output).toContain("cup clusters failover west");
    await cup("clusters", "failover", "west");
    await eventually(async () => expect((await stats()).map(({ state }) => state)).toEqual(["RUNNING", "RUNNING"]));
    await cup("clusters", "start", "west");
    await eventually(async () => expect((await stage.cupJson<{ lrps: number }[]>("clusters"))[0]?.lrps).toBe(0));
    expect((await stats()).map(({ state }) => state)).toEqual(["RUNNING", "RUNNING"]);
    await cup("clusters", "uncordon", "west");
  });

  test("nothing of a deleted app is left there", async () => {
    await cup("delete", "shop", "-f");
    await eventually(async () => expect((await stage.cupJson<{ lrps: number }[]>("clusters"))[0]?.lrps).toBe(0));
  });

  test("is removed when nothing runs there, and forgotten when it never comes back", async () => {
    expect(await cup("clusters", "remove", "west")).toContain("Cluster west is removed");
    expect(await cup("clusters")).toContain("No clusters besides the platform's own");
    await cup("clusters", "add", "north", "--here");
    await cup("segments", "place", "shared", "--clusters", "cupola.dev/cluster=north");
    await cup("segments", "place", "shared", "--clusters", "all");
    await cup("push", "shop", "--path", HELLO, "-m", "64M", "-i", "2");
    await eventually(async () => expect(count(await places(), "on north")).toBe(1));
    expect((await stage.cup("clusters", "remove", "north")).output).toContain("cup clusters drain north");
    await cup("clusters", "forget", "north", "-f");
    await eventually(async () => expect((await stats()).map(({ state }) => state)).toEqual(["RUNNING", "RUNNING"]));
  });
});
