// `npm run chaos -- --clusters`: a seed on a hub and two spokes, and whether it ended with every app complete, each index once, and no deletion that nobody told.
import { setTimeout as delay } from "node:timers/promises";
import { App } from "../../../crds/app/app.ts";
import { Cluster } from "../../../crds/cluster/cluster.ts";
import { CLUSTER_NAME_LABEL } from "../../../crds/cluster/local-cluster.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { IsolationSegment } from "../../../crds/isolation-segment/isolation-segment.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../../crds/process/process.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { Route } from "../../../crds/route/route.ts";
import { ClusterRoleBinding } from "../../../kube/api/builtin.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { isNotFound } from "../../../kube/client/errors.ts";
import { startReplica, type Replica } from "../../clusters/replica.ts";
import {
  HUB_BINDING,
  hubBinding,
  indexesOf,
  leaveOrphan,
  listLRPs,
  startWorld,
  type SeenLRP,
  type World,
} from "../../clusters/world.ts";
import { applyApp, makeSpace } from "../../conformance/controllers/test-env.ts";
import {
  mayLose,
  planClusterSchedule,
  QUIET,
  SPOKES,
  type ClusterEvent,
  type ClusterSchedule,
} from "./cluster-schedule.ts";

const REST_MS = 60_000;
const STILL_MS = 500;

type SpokeEvent = Extract<ClusterEvent, { spoke: string }>;
type AppEvent = Exclude<Extract<ClusterEvent, { app: string }>, SpokeEvent>;
type PlatformEvent = Exclude<ClusterEvent, SpokeEvent | AppEvent>;

interface Wanted {
  /** Undefined for an app that is deleted. */
  instances: number | undefined;
  isStarted: boolean;
}

export interface ClusterChaos {
  /** Lines for a person; none when all is well. */
  runSeed(seed: number): Promise<string[]>;
  stop(): Promise<void>;
}

export async function startClusterChaos(): Promise<ClusterChaos> {
  const world = await startWorld({ spokes: SPOKES });
  const replicas = {
    leader: await startReplica(() => world.connect(), { leads: true }),
    follower: await startReplica(() => world.connect(), { leads: false }),
  };
  const { namespace } = await makeSpace(world.hub, "acme", "dev");
  const chaos = new Chaos(world, replicas, namespace);
  return {
    runSeed: (seed) => chaos.run(planClusterSchedule(seed)),
    async stop() {
      for (const { link } of world.spokes.values()) link.set("open");
      await Promise.all(Object.values(replicas).map((one) => one.stop()));
      await world.stop();
    },
  };
}

class Chaos {
  readonly #world: World;
  readonly #replicas: Record<"leader" | "follower", Replica>;
  readonly #namespace: string;
  #wanted = new Map<string, Wanted>();
  #orphans: LRP[] = [];
  /** By uid: LRPs that lacked the hub's label when their app was deleted. They are orphans, which stay for an hour. */
  #unlabelled = new Map<string, SeenLRP>();

  constructor(world: World, replicas: Record<"leader" | "follower", Replica>, namespace: string) {
    this.#world = world;
    this.#replicas = replicas;
    this.#namespace = namespace;
  }

  async run(schedule: ClusterSchedule): Promise<string[]> {
    const { seed, apps, events, lengthMs } = schedule;
    const name = (app: string): string => `s${seed}${app}`;
    this.#wanted = new Map();
    this.#orphans = [];
    this.#unlabelled = new Map();
    await this.#place([]);
    await Promise.all(Object.entries(apps).map(([app, instances]) => this.#make(name(app), instances)));
    const faults = await this.#untilAtRest();
    if (faults.length > 0) return ["even in calm", ...faults];
    const quiet = (await Promise.all(QUIET.map((app) => listLRPs(this.#world, name(app))))).flat();
    const start = performance.now();
    const until = (atMs: number): Promise<void> => delay(Math.max(0, start + atMs - performance.now()));
    // A step of people or of faults may fail: the end tells whether the platform did its part.
    await Promise.all(
      events.map(async (event) => {
        await until(event.atMs);
        await this.#act(event, name).catch(() => undefined);
      }),
    );
    await until(lengthMs);
    await this.#heal();
    const left = await this.#untilAtRest();
    const lost = await this.#findLost(schedule, quiet);
    if (left.length + lost.length === 0) await this.#clear([...this.#wanted.keys()]);
    return [...left, ...lost];
  }

  async #make(app: string, instances: number): Promise<void> {
    await applyApp(this.#world.hub, { namespace: this.#namespace, name: app }, { process: { instances } });
    this.#wanted.set(app, { instances, isStarted: true });
  }

  #place(on: readonly string[]): Promise<unknown> {
    const matchLabels = { [CLUSTER_NAME_LABEL]: on[0] ?? null };
    const body = { spec: { placement: { clusters: { matchLabels } } } };
    return this.#world.hub.patch(
      IsolationSegment,
      { namespace: SYSTEM_NAMESPACE, name: "shared" },
      { type: "merge", body },
    );
  }

  async #act(event: ClusterEvent, name: (app: string) => string): Promise<void> {
    if ("spoke" in event) return this.#actOnSpoke(event, name);
    return "app" in event ? this.#actOnApp(event, name(event.app)) : this.#actOnPlatform(event);
  }

  async #actOnPlatform(event: PlatformEvent): Promise<void> {
    const { hub } = this.#world;
    switch (event.what) {
      case "kill-leader":
        return this.#kill("leader");
      case "kill-follower":
        return this.#kill("follower");
      case "leave-orphan":
        return this.#leaveOrphan();
      case "place":
        return void (await this.#place(event.on));
      case "wipe-decisions":
        for (const { metadata } of (await hub.list(PlacementDecision)).items)
          await ignoreAbsent(hub.delete(PlacementDecision, metadata));
    }
  }

  async #actOnApp(event: AppEvent, app: string): Promise<void> {
    const wanted = this.#wanted.get(app);
    if (wanted?.instances === undefined) return;
    switch (event.what) {
      case "scale":
        wanted.instances = event.instances;
        return void (await this.#patch(Process, `${app}.web`, { instances: event.instances }));
      case "restart":
      case "start":
        wanted.isStarted = true;
        return void (await this.#patch(App, app, {
          state: "Started",
          ...(event.what === "restart" && { restart: crypto.randomUUID() }),
        }));
      case "stop":
        wanted.isStarted = false;
        return void (await this.#patch(App, app, { state: "Stopped" }));
      case "delete":
        wanted.instances = undefined;
        return this.#delete(app);
      default:
        return this.#actOnRoute(event.what, app);
    }
  }

  async #actOnRoute(what: "route" | "unroute", app: string): Promise<void> {
    const { hub } = this.#world;
    const metadata = { namespace: this.#namespace, name: app };
    if (what === "unroute") return ignoreAbsent(hub.delete(Route, metadata));
    const spec = { host: app, domainRef: { name: "apps.example" }, destinations: [{ app }] };
    await hub.apply(Route, { metadata, spec }, { fieldManager: "kubectl" });
  }

  #patch(ref: ResourceRef, name: string, spec: object): Promise<unknown> {
    const key = { namespace: this.#namespace, name };
    return this.#world.hub.patch(ref, key, { type: "merge", body: { spec } });
  }

  async #delete(app: string): Promise<void> {
    const key = { namespace: this.#namespace, name: app };
    await ignoreAbsent(this.#world.hub.delete(Route, key));
    await ignoreAbsent(this.#world.hub.delete(App, key));
  }

  async #kill(which: "leader" | "follower"): Promise<void> {
    await this.#replicas[which].kill();
    this.#replicas[which] = await startReplica(() => this.#world.connect(), { leads: which === "leader" });
  }

  async #leaveOrphan(): Promise<void> {
    const { client } = this.#world.spoke("east");
    const [like] = (await client.list(LRP, { namespace: this.#namespace })).items;
    if (!like) return;
    const spec = { ...like.spec, app: { ...like.spec.app, name: "orphan" } };
    this.#orphans.push(
      await leaveOrphan(
        client,
        { ...like, spec },
        { namespace: this.#namespace, name: `orphan-${crypto.randomUUID()}` },
      ),
    );
  }

  async #actOnSpoke(event: SpokeEvent, name: (app: string) => string): Promise<void> {
    const { link, client } = this.#world.spoke(event.spoke);
    switch (event.what) {
      case "black-hole":
      case "api-down":
        link.set(event.what === "black-hole" ? "black-hole" : "refusing");
        await delay(event.lastMs);
        return link.set("open");
      case "revoke":
        await client.delete(ClusterRoleBinding, { name: HUB_BINDING });
        await delay(event.lastMs);
        return void (await client.apply(ClusterRoleBinding, hubBinding(), { fieldManager: "person", force: true }));
      case "cordon":
      case "drain":
        await this.#patchCluster(event.spoke, { cordoned: true, drain: event.what === "drain" });
        await delay(event.lastMs);
        return this.#patchCluster(event.spoke, { cordoned: false, drain: false });
      default:
        return this.#actOnLRP(event, name(event.app));
    }
  }

  async #actOnLRP(
    { what, spoke, lastMs }: Extract<ClusterEvent, { what: "delete-lrp" | "scale-lrp" | "unlabel-lrp" }>,
    app: string,
  ): Promise<void> {
    const { client } = this.#world.spoke(spoke);
    const lrp = (await listLRPs(this.#world, app)).find(({ cluster }) => cluster === spoke)?.lrp;
    if (!lrp) return;
    const { metadata } = lrp;
    if (what === "delete-lrp") return ignoreAbsent(client.delete(LRP, metadata));
    if (what === "scale-lrp")
      return void (await client.patch(LRP, metadata, { type: "merge", body: { spec: { instances: 0 } } }));
    const label = (hub: string | null): Promise<unknown> =>
      client.patch(LRP, metadata, { type: "merge", body: { metadata: { labels: { [LABELS.hub]: hub } } } });
    const before = metadata.labels?.[LABELS.hub];
    if (before === undefined) return;
    await label(null);
    await delay(lastMs);
    await ignoreAbsent(label(before));
    if (this.#wanted.get(app)?.instances === undefined)
      this.#unlabelled.set(metadata.uid ?? "", { cluster: spoke, lrp });
  }

  async #patchCluster(name: string, spec: object): Promise<void> {
    await this.#world.hub.patch(Cluster, { namespace: SYSTEM_NAMESPACE, name }, { type: "merge", body: { spec } });
  }

  async #heal(): Promise<void> {
    for (const [name, { link, client }] of this.#world.spokes) {
      link.set("open");
      await client.apply(ClusterRoleBinding, hubBinding(), { fieldManager: "person", force: true });
      await this.#patchCluster(name, { cordoned: false, drain: false });
    }
  }

  /** Empty once all apps are as wanted, and stay so for a moment. */
  async #untilAtRest(): Promise<string[]> {
    const deadline = Date.now() + REST_MS;
    for (;;) {
      const problems = await this.#findProblems();
      if (problems.length === 0) {
        await delay(STILL_MS);
        if ((await this.#findProblems()).length === 0) return [];
      }
      if (Date.now() > deadline) return problems.length > 0 ? problems : ["it does not come to rest"];
      await delay(100);
    }
  }

  async #findProblems(): Promise<string[]> {
    const all = (await listLRPs(this.#world)).filter(({ lrp }) => !this.#unlabelled.has(lrp.metadata.uid ?? ""));
    const problems: string[] = [];
    for (const [app, wanted] of this.#wanted) {
      const seen = all.filter(({ lrp }) => lrp.spec.app.name === app);
      const found = describe(seen);
      const expected =
        wanted.isStarted && wanted.instances !== undefined
          ? Array.from({ length: wanted.instances }, (_, at) => at)
          : [];
      const isRight = JSON.stringify(indexesOf(seen)) === JSON.stringify(expected);
      if (!isRight) problems.push(`${app} wants ${expected.join(",") || "nothing"}, has ${found || "nothing"}`);
      else if (new Set(seen.filter(isLive).map(({ lrp }) => lrp.spec.revision)).size > 1)
        problems.push(`${app} has several revisions: ${found}`);
      if (wanted.instances === undefined) problems.push(...(await this.#findLeftovers(app)));
    }
    return problems;
  }

  async #findLeftovers(app: string): Promise<string[]> {
    const { hub, spokes } = this.#world;
    const key = { namespace: this.#namespace, name: `${app}.web` };
    const process = await hub.find(Process, key);
    const routes = await Promise.all([...spokes.values()].map(({ client }) => client.list(RouteBinding)));
    const bindings = routes.flatMap(({ items }) => items).filter(({ spec }) => spec.hostname.startsWith(`${app}.`));
    return [
      ...(process ? [`process ${key.name} is left`] : []),
      ...bindings.map(({ metadata }) => `route ${metadata.name} is left`),
    ];
  }

  /** LRPs that went without a word: those of apps that nobody touched, and objects whose hour is not over. */
  async #findLost(schedule: ClusterSchedule, quiet: readonly SeenLRP[]): Promise<string[]> {
    const all = await listLRPs(this.#world);
    const uids = new Set(all.map(({ lrp }) => lrp.metadata.uid));
    const lost = quiet.filter(({ cluster, lrp }) => !uids.has(lrp.metadata.uid) && !mayLose(schedule, cluster));
    return [
      ...lost.map(({ cluster, lrp }) => `nobody told to delete LRP ${lrp.metadata.name} on ${cluster}`),
      ...this.#orphans
        .filter(({ metadata }) => !uids.has(metadata.uid))
        .map(({ metadata }) => `orphan ${metadata.name} was deleted`),
    ];
  }

  async #clear(apps: readonly string[]): Promise<void> {
    for (const app of apps) {
      this.#wanted.set(app, { instances: undefined, isStarted: false });
      await this.#delete(app);
    }
    const left = await this.#untilAtRest();
    if (left.length > 0) throw new Error(`the apps of a seed do not go: ${left.join("; ")}`);
    for (const { metadata } of this.#orphans)
      await ignoreAbsent(this.#world.spoke("east").client.delete(LRP, metadata));
    for (const { cluster, lrp } of this.#unlabelled.values())
      await ignoreAbsent(this.#world.spoke(cluster).client.delete(LRP, lrp.metadata));
  }
}

function isLive({ lrp }: SeenLRP): boolean {
  return !lrp.metadata.deletionTimestamp && lrp.spec.instances > 0;
}

function describe(seen: readonly SeenLRP[]): string {
  return seen
    .map(
      ({ cluster, lrp }) =>
        `${cluster}:${indexesOf([{ cluster, lrp }]).join(",")}@${lrp.spec.revision}${lrp.metadata.deletionTimestamp ? " ending" : ""}`,
    )
    .join(" ");
}

async function ignoreAbsent(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

/** Number of seeds that did not end well. */
export async function runClusterSeeds(first: number, count: number): Promise<number> {
  let diverged = 0;
  let chaos: ClusterChaos | undefined;
  for (let seed = first; seed < first + count; seed++) {
    chaos ??= await startClusterChaos();
    const started = performance.now();
    const problems = await chaos
      .runSeed(seed)
      .catch((error: unknown) => [error instanceof Error ? error.message : String(error)]);
    const { events } = planClusterSchedule(seed);
    console.log(
      `seed ${seed}: ${problems.length === 0 ? "whole" : "DIVERGED"} in ${((performance.now() - started) / 1000).toFixed(1)} s (${[...new Set(events.map(({ what }) => what))].join(" ")})`,
    );
    if (problems.length === 0) continue;
    diverged++;
    for (const line of problems) console.log(line);
    console.log(`again: npm run chaos -- --clusters --seed ${seed} --runs 1`);
    await chaos.stop();
    chaos = undefined;
  }
  await chaos?.stop();
  return diverged;
}
