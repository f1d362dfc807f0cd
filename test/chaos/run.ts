// One seed: the load in calm, the load under faults, and whether both ended alike and in silence.
import { setTimeout as delay } from "node:timers/promises";
import { CF_ROLES } from "../../crds/roles.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { applyObjects } from "../../platform/install.ts";
import { NotYet, untilAcknowledged } from "./retry.ts";
import { cfDoor, type CfDoor } from "./cf-client.ts";
import { difference, explain, normalise, objectsOf, readCluster, unsettled } from "./end-state.ts";
import type { Write } from "./faulty-proxy.ts";
import { inflict } from "./inject-faults.ts";
import { kubectlDoor } from "./kubectl-client.ts";
import { perform, type People } from "./run-workload.ts";
import { type RunPlace, runPlace } from "./run-scope.ts";
import type { Schedule } from "./schedule.ts";
import { DEVELOPER, DOMAIN, type World } from "./test-env.ts";

/** How a run went. Alike and silent when `faults` is empty. */
export interface Outcome {
  seed: number;
  /** Lines for a person. */
  faults: string[];
  tookMs: number;
  /** Asks the org to go, and does not wait. */
  leave(): Promise<void>;
}

/** What a run needs of the calm one. */
export interface Calm {
  lines: readonly string[];
  leave(): Promise<void>;
}

/** Longest wait for the end state after the faults are over. */
const CONVERGE_MS = 30_000;
/** Without a write for so long before silence is measured (a replica tells what has changed of itself after a second), and how long it is measured. */
const QUIET_MS = 1200;
const IDLE_MS = 1000;

interface Cast {
  place: RunPlace;
  people: People;
  developer: () => readonly KubeObject[];
  furnish(): Promise<void>;
}

function castOf(world: World, prefix: string): Cast {
  const { kube, replicas, plane } = world;
  const place = runPlace(kube, prefix);
  const door = (token: string): CfDoor => cfDoor({ urls: replicas.urls, token, kube, place, domain: DOMAIN });
  const people: People = { admin: door(plane.adminToken), developer: door(DEVELOPER.token), kubectl: kubectlDoor(kube, place, DOMAIN) };
  let bindings: readonly KubeObject[] = [];
  return {
    place,
    people,
    developer: () => bindings.slice(1),
    async furnish() {
      const binding = (namespace: string, clusterRole: string): KubeObject => ({
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "RoleBinding",
        metadata: { name: "the-developer", namespace },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: clusterRole },
        subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: DEVELOPER.user }],
      });
      bindings = [binding(await place.orgNamespace(), CF_ROLES.organization_user.clusterRole), binding((await place.space("dev")).namespace, CF_ROLES.space_developer.clusterRole)];
      await untilAcknowledged(`${prefix}: roles of the developer`, () => applyObjects(kube, bindings));
      await place.space("ops");
    },
  };
}

/** The load without faults, and what it leads to. @throws Error when even that does not come to rest */
export async function runCalm(world: World, { seed, load }: Schedule): Promise<Calm> {
  const { place, people, furnish } = castOf(world, `calm${seed}`);
  await perform({ people, load, paced: false, furnish });
  const readAtRest = async (): Promise<readonly string[]> => {
    await untilQuiet(world);
    await world.replicas.idle();
    const objects = objectsOf(await readCluster(world.kube), place.prefix);
    const [unrest] = unsettled(objects);
    if (unrest) throw new NotYet(unrest);
    return normalise(objects, place.prefix);
  };
  const lines = await untilAcknowledged(`${place.prefix}: rest`, async () => {
    const before = await readAtRest();
    await delay(QUIET_MS);
    const after = await readAtRest();
    const { missing, surplus } = difference(before, after);
    if (missing.length + surplus.length > 0) throw new NotYet(explain(missing, surplus).join("\n"));
    return after;
  });
  return { lines, leave: () => leave(world, place, people) };
}

/** The load under the faults of the schedule. Never throws for what the platform does. */
export async function runChaos(world: World, schedule: Schedule, calm: Calm): Promise<Outcome> {
  const started = performance.now();
  const { place, people, furnish, developer } = castOf(world, `wild${schedule.seed}`);
  const faults: string[] = [];
  const trying = async (what: () => Promise<unknown>): Promise<void> => {
    await what().catch((error: unknown) => faults.push(error instanceof Error ? error.message : String(error)));
  };
  const times: number[] = [];
  const note = (): unknown => times.push(Math.round(performance.now() - started));
  await Promise.all([trying(() => perform({ people, load: schedule.load, paced: true, furnish })).then(note), trying(() => inflict(world, schedule, developer)).then(note)]);
  if (faults.length === 0) await trying(() => untilAlike(world, place.prefix, calm.lines));
  note();
  if (faults.length === 0) faults.push(...(await idleWrites(world)));
  note();
  if (process.env["CHAOS_TIMES"]) console.log(times.join(" "));
  return { seed: schedule.seed, faults, tookMs: performance.now() - started, leave: () => leave(world, place, people) };
}

/** Asks the org to go. What follows goes on behind the next runs. */
async function leave({ left }: World, { prefix }: RunPlace, { admin }: People): Promise<void> {
  left.add(prefix);
  await admin.deleteOrg();
}

async function untilAlike(world: World, prefix: string, wanted: readonly string[]): Promise<void> {
  const deadline = Date.now() + CONVERGE_MS;
  for (;;) {
    const { missing, surplus } = difference(wanted, normalise(objectsOf(await readCluster(world.kube), prefix), prefix));
    if (missing.length === 0 && surplus.length === 0) return;
    if (Date.now() > deadline) throw new Error([`not as the calm run after ${CONVERGE_MS / 1000} s`, ...explain(missing, surplus)].join("\n"));
    await delay(200);
  }
}

/**
 * A claim that nobody bears lapses half a minute after it was made: that is time's doing, and no work of an idle platform. Nor is what is left of earlier runs,
 * nor the news that a watch has been opened anew, which was stalled and needed some seconds to notice.
 */
function isWork({ left }: World, { method, path }: Write): boolean {
  if (method === "DELETE" && path.includes("/claims/")) return false;
  if (/\/replicas\/[^/]+\/status/.test(path)) return false;
  return !/(calm|wild)\d+(?=-)/.exec(path)?.some((prefix) => left.has(prefix));
}

async function untilQuiet(world: World): Promise<void> {
  const { proxy } = world;
  const deadline = Date.now() + CONVERGE_MS;
  const last = (): number => proxy.writes.findLast((write) => isWork(world, write))?.atMs ?? 0;
  while (performance.now() - last() < QUIET_MS) {
    if (Date.now() > deadline) throw new Error(`writes go on for ${CONVERGE_MS / 1000} s: ${proxy.writes.slice(-5).map(describe).join(", ")}`);
    await delay(50);
  }
}

async function idleWrites(world: World): Promise<string[]> {
  await untilQuiet(world);
  const before = world.proxy.writes.length;
  await delay(IDLE_MS);
  const writes = world.proxy.writes.slice(before).filter((write) => isWork(world, write));
  return writes.length > 0 ? [`${writes.length} writes while idle: ${writes.slice(0, 10).map(describe).join(", ")}`] : [];
}

function describe({ method, path, code }: Write): string {
  return `${method} ${path.split("?")[0]} ${code}`;
}
