// Three replicas as equals: jobs and writes count at all of them at once, a silent watch makes nobody see less, and a replica that dies leaves no name behind.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { apiAt, guidOf, tokenOf, type Api, type ApiAnswer, type Named, type Page } from "./support/api.ts";
import { eventually } from "../eventually.ts";
import { startHoldingProxy, type HoldingProxy } from "./support/holding-proxy.ts";
import { serverOf, startReplica, type ReplicaProcess } from "./support/replica-process.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

/** A claim holds for so long without an object. */
const HOLD_MS = 30_000;

describe("three replicas", () => {
  let stage: TestPlatform;
  let line: HoldingProxy;
  let replicas: ReplicaProcess[];
  let apis: Api[];
  let space: string;

  beforeAll(async () => {
    stage = await startTestPlatform();
    line = await startHoldingProxy(serverOf(stage));
    replicas = await Promise.all([
      startReplica(stage),
      startReplica(stage),
      startReplica(stage, { server: line.server }),
    ]);
    apis = replicas.map(({ url }) => apiAt(url, tokenOf(stage, "admin")));
    space = await guidOf(stage, "spaces.cupola.dev/dev", "local");
  });
  afterAll(async () => {
    await Promise.all((replicas ?? []).map((replica) => replica.kill()));
    await line?.close();
    await stage?.stop();
  });

  const at = (which: number): Api => {
    const api = apis[which];
    if (!api) throw new Error(`there is no replica ${which}`);
    return api;
  };
  const post = (api: Api, name: string): Promise<ApiAnswer> =>
    api.send("POST", "/v3/apps", { name, relationships: { space: { data: { guid: space } } } });
  const listed = async (api: Api, name: string): Promise<number> =>
    (await api.call<Page<Named>>("GET", `/v3/apps?names=${name}`)).resources.length;

  test("a job is known at once wherever it is asked for", async () => {
    const { guid } = JSON.parse((await post(at(0), "job")).text) as Named;
    const deleted = await at(0).send("DELETE", `/v3/apps/${guid}`);
    const job = String(deleted.headers["location"]).replace(/^https?:\/\/[^/]+/, "");
    const states = await Promise.all(apis.map((api) => api.call<{ state: string }>("GET", job)));
    for (const { state } of states) expect(["PROCESSING", "COMPLETE"]).toContain(state);
    await eventually(async () => expect((await at(1).call<{ state: string }>("GET", job)).state).toBe("COMPLETE"));
  });

  test("each write is there at every other replica as soon as it is answered, also while all write at once", async () => {
    const missing: string[] = [];
    const write = async (name: string, by: number): Promise<void> => {
      const made = await post(at(by), name);
      expect(made.status, made.text).toBe(201);
      const seen = await Promise.all(apis.map((api) => listed(api, name)));
      seen.forEach((count, where) => count === 1 || missing.push(`${name} at ${where}`));
    };
    for (let round = 0; round < 5; round++)
      await Promise.all([0, 1, 2].flatMap((by) => [0, 1].map((many) => write(`write-${round}-${by}-${many}`, by))));
    expect(missing).toEqual([]);
  });

  test("a replica with silent watches serves nothing stale", async () => {
    await post(at(0), "before");
    expect(line.stallWatches()).toBeGreaterThan(10);
    const { guid } = JSON.parse((await post(at(0), "silent")).text) as Named;
    // It lists again rather than answer from what it has.
    expect(await listed(at(2), "silent")).toBe(1);
    expect((await at(1).send("DELETE", `/v3/apps/${guid}`)).status).toBe(202);
    await eventually(async () => expect((await at(0).send("GET", `/v3/apps/${guid}`)).status).toBe(404));
    expect((await at(2).send("GET", `/v3/apps/${guid}`)).status).toBe(404);
  });

  /** A replica claims the name, and is killed before it makes the object. */
  async function dieHolding(name: string): Promise<void> {
    const reached = line.hold((method, path) => method === "POST" && /\/namespaces\/[^/]+\/apps(\?|$)/.test(path));
    const victim = replicas.pop();
    const api = apis.pop();
    if (!victim || !api) throw new Error("no replica is left");
    const dying = post(api, name).catch(() => undefined);
    await reached;
    await victim.kill();
    await dying;
  }

  test("the claim of a replica that died before it created the object goes to a create of the same object", async () => {
    await dieHolding("orphan");
    const answers = await Promise.all([...apis, ...apis].map((api) => post(api, "orphan")));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422]);
    for (const api of apis) expect(await listed(api, "orphan")).toBe(1);
  });

  test("the claim goes to other creates after its grace period, and the name is never used twice", async () => {
    line.release();
    replicas.push(await startReplica(stage, { server: line.server }));
    apis.push(apiAt(replicas[2]?.url ?? "", tokenOf(stage, "admin")));
    await dieHolding("late");
    const claimedAt = Date.now();
    const file = join(stage.home, "heir.yaml");
    writeFileSync(
      file,
      stringify({
        apiVersion: "cupola.dev/v1alpha1",
        kind: "App",
        metadata: { name: "heir", namespace: "local-dev" },
        spec: { name: "late" },
      }),
    );
    expect((await stage.kubectl("create", "-f", file)).code).toBe(0);
    await eventually(async () =>
      expect((await stage.kubectl("get", "apps.cupola.dev", "heir", "-n", "local-dev", "-o", "yaml")).output).toContain(
        "NameTaken",
      ),
    );
    expect(await listed(at(1), "late")).toBe(0);
    await eventually(async () => expect(await listed(at(1), "late")).toBe(1), HOLD_MS + 15_000);
    expect(Date.now() - claimedAt).toBeLessThan(HOLD_MS + 15_000);
    expect((await post(at(0), "late")).status).toBe(422);
  });
});
