// Dynamic watches on an API server: union of dependents, replay to late ones, slow consumers, no leaks.
import { env } from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ConfigMap } from "../../../kube/api/builtin.ts";
import type { ChangedKey } from "../../../kube/cache/dynamic-watches.ts";
import { freshNamespace, type Scene } from "./harness.ts";
import { eventually } from "../../eventually.ts";
import { testPermissionsOf, rule, startAs, type Process } from "./permissions.ts";

const names = (batch: readonly ChangedKey[]): string[] => batch.map(({ key }) => key.name).sort();
const lists = (process: Process): number =>
  process.requests.filter((request) => request.includes("/configmaps?") && !request.includes("watch=true")).length;

export function registrarRows(scene: Scene): void {
  describe("dynamic watches", () => {
    const open: Process[] = [];
    let counter = 0;
    afterEach(async () => {
      for (const process of open.splice(0)) await process.stop();
    });
    /** A process that may read ConfigMaps, and a namespace with some. */
    const begin = async (
      lingerMs: number,
      objects: string[] = ["one", "two"],
    ): Promise<{
      process: Process;
      key: { ref: typeof ConfigMap; namespace: string; labelSelector: string };
      put: (name: string) => Promise<unknown>;
    }> => {
      const namespace = await freshNamespace(scene.client);
      const permissions = testPermissionsOf(scene.client, `registrant-${namespace}-${counter++}`);
      await permissions.grantClusterWide([rule("", ["configmaps"], ["get", "list", "watch"])]);
      const put = (name: string): Promise<unknown> =>
        scene.client.apply(
          ConfigMap,
          { metadata: { name, namespace, labels: { own: "yes" } } },
          { fieldManager: "person" },
        );
      for (const name of objects) await put(name);
      const process = startAs(scene.endpoint, permissions.user, { lingerMs });
      open.push(process);
      return { process, key: { ref: ConfigMap, namespace, labelSelector: "own=yes" }, put };
    };

    it("run each watch once for the union of dependents, and stop unused ones", async () => {
      const { process, key, put } = await begin(50);
      const received: Record<string, string[]> = { a: [], b: [] };
      const [a, b] = ["a", "b"].map((name) =>
        process.informers.dynamicWatches({ name, deliver: (batch) => void received[name]?.push(...names(batch)) }),
      );
      a?.add(key, "x");
      a?.add(key, "x");
      a?.add(key, "y");
      b?.add(key, "z");
      await eventually(() =>
        expect([received["a"], received["b"]]).toEqual([
          ["one", "two"],
          ["one", "two"],
        ]),
      );
      expect(process.informers.status()).toHaveLength(1);
      expect(lists(process)).toBe(1);
      a?.removeDependent("x");
      a?.remove(key, "y");
      expect([a?.size, b?.size]).toEqual([0, 1]);
      await put("three");
      await eventually(() => expect(received["b"]).toContain("three"));
      expect(received["a"]).not.toContain("three");
      expect(lists(process)).toBe(1);
      b?.replace([]);
      await eventually(() => expect(process.informers.status()).toEqual([]));
    });

    it("replay objects to a late dependent while another leaves, without a new list", async () => {
      const { process, key, put } = await begin(0);
      const first = process.informers.dynamicWatches({ name: "first", deliver: () => undefined });
      first.add(key, "x");
      await eventually(() => expect(process.informers.status()[0]).toMatchObject({ state: "watching", synced: true }));
      const late: string[] = [];
      const second = process.informers.dynamicWatches({
        name: "second",
        deliver: (batch) => void late.push(...names(batch)),
      });
      second.add(key, "y");
      first.remove(key, "x");
      await eventually(() => expect(late).toEqual(["one", "two"]));
      await put("three");
      await eventually(() => expect(late).toContain("three"));
      expect(lists(process)).toBe(1);
    });

    it("keep a released watch while its objects are being read", async () => {
      const { process, key } = await begin(0);
      const reading = Promise.withResolvers<void>();
      const read: string[] = [];
      let begun = false;
      const reader = process.informers.dynamicWatches({
        name: "reader",
        deliver: async (batch) => {
          begun = true;
          await reading.promise;
          for (const { store, key: at } of batch) read.push(store.get(at).metadata.name);
        },
      });
      reader.add(key, "x");
      await eventually(() => expect(begun).toBe(true));
      reader.remove(key, "x");
      expect(process.informers.status()).toHaveLength(1);
      reading.resolve();
      await eventually(() => expect(read.sort()).toEqual(["one", "two"]));
      await eventually(() => expect(process.informers.status()).toEqual([]));
    });

    it("are not delayed by a slow consumer, which gets missed changes in one batch", async () => {
      const { process, key, put } = await begin(0, ["one"]);
      const gate = Promise.withResolvers<void>();
      const batches: string[][] = [];
      const quick: string[] = [];
      const slow = process.informers.dynamicWatches({
        name: "slow",
        deliver: async (batch) => (batches.push(names(batch)), batches.length === 1 ? gate.promise : undefined),
      });
      const fast = process.informers.dynamicWatches({
        name: "fast",
        deliver: (batch) => void quick.push(...names(batch)),
      });
      slow.add(key, "x");
      fast.add(key, "y");
      await eventually(() => expect(batches).toEqual([["one"]]));
      for (const name of ["two", "three", "two"]) await put(name);
      await scene.client.patch(
        ConfigMap,
        { namespace: key.namespace, name: "two" },
        { type: "merge", body: { data: { a: "1" } } },
      );
      await eventually(() => expect(quick.filter((name) => name === "two").length).toBeGreaterThan(1));
      expect(batches).toHaveLength(1);
      gate.resolve();
      await eventually(() => expect(batches).toEqual([["one"], ["three", "two"]]));
    });

    it("deliver a failed batch again", async () => {
      const { process, key } = await begin(0, ["one"]);
      const tries: string[][] = [];
      const unsteady = process.informers.dynamicWatches({
        name: "unsteady",
        deliver: (batch) => {
          tries.push(names(batch));
          if (tries.length === 1) throw new Error("not now");
        },
      });
      unsteady.add(key, "x");
      await eventually(() => expect(tries).toEqual([["one"], ["one"]]));
    });

    it("leak nothing over a day's worth of reopened watches", async () => {
      const { process, key, put } = await begin(0);
      const other = await freshNamespace(scene.client);
      const keys = [
        key,
        { ref: ConfigMap, namespace: other },
        { ref: ConfigMap, namespace: other, metadata: true },
        { ref: ConfigMap, namespace: other, labelSelector: "a in (b,c)" },
      ];
      let taken = 0;
      const churn = async (rounds: number): Promise<void> => {
        for (let round = 0; round < rounds; round++) {
          const registrar = process.informers.dynamicWatches({
            name: `churn-${round}`,
            deliver: (batch) => void (taken += batch.length),
          });
          for (const each of keys) registrar.add(each, `dependent-${round}`);
          await soon(() =>
            expect(process.informers.status().filter(({ state }) => state === "watching")).toHaveLength(keys.length),
          );
          registrar.removeDependent(`dependent-${round}`);
          await registrar.close();
          await soon(() => expect(process.informers.status()).toEqual([]));
        }
      };
      await churn(10);
      const watching = await openWatches(scene);
      const before = heapUsed();
      // A namespaced watch lives 90 s on average: 240 rounds of four equal one day.
      const rounds = Number(env["CUPOLA_CHURN"] ?? 50);
      await churn(rounds);
      expect(taken).toBeGreaterThanOrEqual(2 * rounds);
      expect(heapUsed() - before).toBeLessThan(6_000_000);
      await eventually(async () => expect(await openWatches(scene)).toBeLessThanOrEqual(watching));
      const last: string[] = [];
      process.informers
        .dynamicWatches({ name: "last", deliver: (batch) => void last.push(...names(batch)) })
        .add(key, "x");
      await put("three");
      await eventually(() => expect(last).toContain("three"));
    }, 120_000);
  });
}

/** Many times in sequence. */
const soon = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 15_000, interval: 1 });

function heapUsed(): number {
  setFlagsFromString("--expose_gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

/** Number of ConfigMap watches by the API server's metrics, where it has them (kube-apiserver does). */
async function openWatches(scene: Scene): Promise<number> {
  try {
    const { body } = await scene.client.stream("GET", "/metrics");
    const text = await body.text();
    const lines = text
      .split("\n")
      .filter(
        (line) =>
          line.startsWith("apiserver_longrunning_requests{") &&
          line.includes('resource="configmaps"') &&
          line.includes('verb="WATCH"'),
      );
    return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  } catch {
    return 0;
  }
}
