// kill -9 of the platform in the middle of a push, a scale, a delete: after a restart all of it converges, and nothing is lost or left over.
// The moments are random; CUPOLA_SEED=<n> makes them those of an earlier run, CUPOLA_ROUNDS=<n> their number.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../scripts/run-command.ts";
import { apiAt, tokenOf, type Api, type Named, type Page } from "./support/api.ts";
import { eventually } from "../eventually.ts";
import { expectAcknowledged } from "./kill/acknowledged.ts";
import { findOrphans, listProcessesUnder, readObjects, findStrayClaims, findStrayProcesses } from "./kill/leftovers.ts";
import { randomFrom } from "../random.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform, CommandResult } from "./support/test-platform.ts";
import { startRecordingProxy, type RecordingProxy } from "./support/recording-proxy.ts";

const CUP = join(import.meta.dirname, "..", "..", "cli", "cup.ts");
const ROUNDS = Number(process.env["CUPOLA_ROUNDS"] ?? 10);
const seed = Number(process.env["CUPOLA_SEED"] ?? Math.floor(Math.random() * 1e9));
const random = randomFrom(seed);
const upTo = (n: number): number => Math.floor(random() * n);

interface Stats {
  resources: { state: string }[];
}
interface AppState extends Named {
  state: string;
}

/** How many writes each makes, and how long its last one goes on working. */
const DEEDS = {
  push: { writes: 6, worksMs: 3000 },
  scale: { writes: 1, worksMs: 1500 },
  delete: { writes: 2, worksMs: 800 },
} as const;
type Deed = keyof typeof DEEDS;
const ORDER: readonly Deed[] = ["push", "scale", "delete"];

describe("kill -9 of the platform", () => {
  let stage: TestPlatform;
  let proxy: RecordingProxy;
  let api: Api;
  const deleted = new Set<string>();

  beforeAll(async () => {
    console.log(`CUPOLA_SEED=${seed}`);
    stage = await startTestPlatform();
    proxy = await startRecordingProxy(stage.port);
    api = apiAt(stage.url, tokenOf(stage, "admin"));
    writeApp(sourceOf(stage));
    expect(
      await cup(
        "login",
        "--api",
        proxy.url,
        "--kubeconfig",
        stage.kubeconfig,
        "--user",
        "admin",
        "--org",
        "local",
        "--space",
        "dev",
      ),
    ).toMatchObject({ code: 0 });
    expect(await cup("push", "steady", "-p", sourceOf(stage))).toMatchObject({ code: 0 });
  });
  afterAll(async () => {
    await proxy?.close();
    await stage?.stop();
  });

  /** `cup` whose every word is heard. */
  function cup(...args: string[]): Promise<CommandResult> {
    const env = {
      CUPOLA_HOME: stage.home,
      CUP_HOME: join(stage.home, "cup-of-proxy"),
      KUBECONFIG: stage.kubeconfig,
      NO_COLOR: "1",
    };
    return runCommand([process.execPath, CUP, ...args], { cwd: sourceOf(stage), deadlineMs: 60_000, env });
  }

  async function apps(): Promise<AppState[]> {
    return (await api.call<Page<AppState>>("GET", "/v3/apps?order_by=name")).resources;
  }

  /** Action of a round; the app is any that can take it. */
  async function choose(round: number): Promise<[Deed, string[]]> {
    const deed = ORDER[round % ORDER.length] ?? "push";
    const all = await apps();
    const some = all.filter(({ name }) => name !== "steady");
    if (deed === "scale") return [deed, ["scale", all[upTo(all.length)]?.name ?? "steady", "-i", String(1 + upTo(3))]];
    const victim = some[upTo(some.length)]?.name;
    if (deed === "delete" && victim) {
      deleted.add(victim);
      return [deed, ["delete", victim, ...(random() < 0.5 ? ["-r"] : [])]];
    }
    return ["push", ["push", `app-${round}`, "-p", sourceOf(stage)]];
  }

  /** Some time after one of the deed's writes came; most often soon, while it is answered. Resolves when it has happened. */
  function killDuring({ writes, worksMs }: (typeof DEEDS)[Deed], over: Promise<unknown>): Promise<string> {
    const [at, pause] = [1 + upTo(writes), Math.floor(worksMs * random() ** 3)];
    const reached = new Promise<string>((resolve) => {
      let seen = 0;
      proxy.onRequest = (method, path) => {
        if (method !== "GET" && ++seen === at) resolve(`${pause} ms after ${method} ${path}`);
      };
    });
    return Promise.race([reached, over.then(() => "it was over")]).then(async (moment) => {
      await delay(pause);
      await stage.kill(random());
      proxy.onRequest = () => undefined;
      return moment;
    });
  }

  async function expectConverged(): Promise<void> {
    for (const [path, what] of [
      ["/v3/builds?states=STAGING", "staging"],
      ["/v3/packages?states=PROCESSING_UPLOAD", "uploads"],
    ] as const)
      expect((await api.call<Page<Named>>("GET", path)).resources, what).toEqual([]);
    for (const app of await apps()) {
      const { instances } = await api.call<{ instances: number }>("GET", `/v3/apps/${app.guid}/processes/web`);
      const { resources } = await api.call<Stats>("GET", `/v3/apps/${app.guid}/processes/web/stats`);
      expect(
        resources.map(({ state }) => state),
        `instances of ${app.name}, ${app.state}`,
      ).toEqual(Array.from({ length: instances }, () => (app.state === "STARTED" ? "RUNNING" : "DOWN")));
      // A deletion that was cut off may have unmapped the app already.
      if (app.state === "STARTED" && !deleted.has(app.name))
        expect((await stage.get(`${app.name}.apps.localhost`)).body, app.name).toContain("colour blue");
    }
    const objects = await readObjects(stage);
    expect([...findOrphans(objects), ...findStrayProcesses(stage, objects)]).toEqual([]);
  }

  test.for(Array.from({ length: ROUNDS }, (_, round) => round))("round %i", { timeout: 60_000 }, async (round) => {
    const [deed, args] = await choose(round);
    const doing = cup(...args);
    const moment = await killDuring(DEEDS[deed], doing);
    const { code } = await doing;
    console.log(`round ${round}: cup ${args.slice(0, 2).join(" ")}: killed ${moment}; it ended with ${code}`);
    await stage.start();
    await eventually(expectConverged, 40_000);
    await expectAcknowledged(api, proxy, deleted);
  });

  test("an interrupted write can be repeated, and leaves no claim", { timeout: 90_000 }, async () => {
    const unfinished = (await apps()).filter(({ state }) => state !== "STARTED").map(({ name }) => name);
    for (const name of unfinished)
      expect(await cup("push", name, "-p", sourceOf(stage)), name).toMatchObject({ code: 0 });
    await eventually(expectConverged);
    // A name that was claimed for an object that never came is free after 30 s.
    await eventually(async () => expect(findStrayClaims(await readObjects(stage))).toEqual([]), 40_000);
  });

  test("with its apps deleted nothing of them is left", async () => {
    for (const { name } of await apps()) expect(await cup("delete", name, "-r", "-f"), name).toMatchObject({ code: 0 });
    await eventually(async () => {
      const objects = await readObjects(stage);
      // A route that was not deleted with its app stays, as in CF, and so do the audit events.
      const stays = ["Route", "RouteBinding", "AuditLog"];
      const rest = objects.filter(({ kind, metadata }) => metadata.namespace === "local-dev" && !stays.includes(kind));
      expect(findOrphans(objects)).toEqual([]);
      expect(rest.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
      expect(
        listProcessesUnder(stage.home)
          .map(({ pid }) => pid)
          .sort(),
      ).toEqual(stage.pids().sort());
      expect(findStrayClaims(objects)).toEqual([]);
    });
  });
});

function sourceOf(stage: TestPlatform): string {
  return join(stage.home, "source");
}

function writeApp(folder: string): void {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), '{"name":"killed","version":"1.0.0"}\n');
  writeFileSync(
    join(folder, "index.js"),
    'require("http").createServer((q, s) => s.end("colour " + process.env.COLOUR)).listen(process.env.PORT);\n',
  );
  writeFileSync(
    join(folder, "manifest.yml"),
    "applications:\n- name: any\n  memory: 64M\n  command: node index.js\n  env: { COLOUR: blue }\n",
  );
}
