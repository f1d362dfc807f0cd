// A seed of chaos with services: people make, change and delete instances and keys by kubectl while the leader dies at the broker's calls; then platform and broker must have the same, once.
import { setTimeout as delay } from "node:timers/promises";
import { newGUID } from "../../../crds/guid.ts";
import { LABELS } from "../../../crds/labels.ts";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { isAlreadyExists } from "../../../kube/client/errors.ts";
import { ignoreNotFound } from "../../../kube/client/ignore-gone.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { eventually } from "../../eventually.ts";
import type { Intercept, Interception } from "../../service-broker/test-broker.ts";
import { retryUntilAcknowledged } from "../retry.ts";
import { planServiceSchedule, type LeaderKill, type ServiceLoad } from "./service-schedule.ts";
import type { ServiceWorld } from "./service-world.ts";

type Call = Parameters<Intercept>[1];

/** Far above what takeovers, polls and the back-off of some attempts take on a busy machine. */
const STEP_MS = 300_000;

export interface ServiceOutcome {
  /** Lines for a person. */
  faults: string[];
  /** Kills that happened: a schedule may name a call that never comes. */
  kills: string[];
}

/** A service of the run, as it is to end: paths at the broker. */
interface Ended {
  paths: string[];
}

export async function runServiceChaos(world: ServiceWorld, seed: number): Promise<ServiceOutcome> {
  const { services, polls, kills } = planServiceSchedule(seed);
  const behaviours = Object.fromEntries(
    Object.entries(polls).map(([name, count]) => [name, { async: { polls: count } }]),
  );
  world.broker.set({ behaviours });
  const before = new Set(world.broker.things());
  const broken = new Set<string>();
  const killer = new LeaderKiller(world, kills, broken);
  world.setIntercept(killer.intercept);
  try {
    const ends = await settleAll(services.map((load) => runService(world, load, broken)));
    const wanted = new Set([...before, ...ends.flatMap(({ paths }) => paths)]);
    return { faults: [...(await findFaults(world, wanted)), ...killer.refusals], kills: killer.done };
  } catch (error) {
    return { faults: [error instanceof Error ? error.message : String(error)], kills: killer.done };
  } finally {
    world.setIntercept(undefined);
  }
}

/** Waits for all, also after a failure: a load that goes on would be found in the next seed's outcome. @throws the first failure */
async function settleAll<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/** Kills the leader where the schedule says so, answers 500 for what is broken, and keeps refusals. */
class LeaderKiller {
  readonly done: string[] = [];
  readonly refusals: string[] = [];
  readonly #world: ServiceWorld;
  readonly #kills: readonly LeaderKill[];
  readonly #broken: ReadonlySet<string>;
  readonly #counts = new Map<string, number>();
  readonly #due = new WeakMap<object, LeaderKill>();

  constructor(world: ServiceWorld, kills: readonly LeaderKill[], broken: ReadonlySet<string>) {
    [this.#world, this.#kills, this.#broken] = [world, kills, broken];
  }

  readonly intercept: Intercept = (moment, asked, status = 0) => {
    if (moment === "received") return this.#receive(asked);
    return moment === "done" ? this.#do(asked) : this.#answer(asked, status);
  };

  async #receive(asked: Call): Promise<Interception | undefined> {
    const { operation } = asked;
    const call = (this.#counts.get(operation) ?? 0) + 1;
    this.#counts.set(operation, call);
    const found = this.#kills.find((one) => one.operation === operation && one.call === call);
    if (!found) return undefined;
    this.#due.set(asked, found);
    if (found.moment !== "received" && found.moment !== "lost") return undefined;
    await this.#kill(found);
    return found.moment === "lost" ? "cut" : undefined;
  }

  async #do(asked: Call): Promise<Interception | undefined> {
    const found = this.#due.get(asked);
    if (found?.moment === "done") await this.#kill(found);
    return asked.operation === "provision" && this.#broken.has(asked.path) ? "fail" : undefined;
  }

  async #answer(asked: Call, status: number): Promise<undefined> {
    if (REFUSALS.has(status)) this.refusals.push(`the broker refused ${asked.operation} of ${asked.path}: ${status}`);
    const found = this.#due.get(asked);
    if (found?.moment !== "answered") return;
    await delay(found.afterMs);
    await this.#kill(found);
  }

  async #kill({ operation, moment, call }: LeaderKill): Promise<void> {
    this.done.push(`${operation} ${call} ${moment}`);
    await this.#world.killLeader(moment === "answered");
  }
}

async function runService(world: ServiceWorld, load: ServiceLoad, broken: Set<string>): Promise<Ended> {
  const guid = newGUID();
  const path = `/v2/service_instances/${guid}`;
  if (load.isBroken) broken.add(path);
  const planRef = { namespace: SYSTEM_NAMESPACE, name: world.planOf("plan-small") };
  await create(world, ServiceInstance, { name: load.name, guid, spec: { type: "managed", planRef } });
  if (load.isBroken) return endBroken(world, load);
  await reaches(world, ServiceInstance, load.name, "create");
  const keys = Array.from({ length: load.keys }, (_none, at) => ({ name: `${load.name}-key-${at}`, guid: newGUID() }));
  for (const { name, guid: keyGUID } of keys) {
    const spec = { type: "key", name, instanceRef: { name: load.name } };
    await create(world, ServiceBinding, { name, guid: keyGUID, spec });
  }
  for (const key of keys) await reaches(world, ServiceBinding, key.name, "create");
  if (load.isUpdated) await update(world, load.name);
  const [first, ...others] = keys;
  if (first) await remove(world, ServiceBinding, first.name);
  if (!load.isDeleted) return { paths: [path, ...others.map((key) => `${path}/service_bindings/${key.guid}`)] };
  await remove(world, ServiceInstance, load.name);
  return { paths: [] };
}

/** A creation that failed, and of which the broker has nothing in the end. */
async function endBroken({ env, namespace }: ServiceWorld, { name }: ServiceLoad): Promise<Ended> {
  await eventually(async () => {
    const { status } = await env.kube.get(ServiceInstance, { namespace, name });
    const orphaned = status?.conditions?.find(({ type }) => type === "Orphaned");
    if (status?.lastOperation?.state !== "failed" || orphaned?.reason !== "TakenBack")
      throw new Error(`${name} is not taken back: ${JSON.stringify(status?.lastOperation)}`);
  }, STEP_MS);
  return { paths: [] };
}

type Kind = typeof ServiceInstance | typeof ServiceBinding;

function create(
  { env, namespace }: ServiceWorld,
  ref: Kind,
  { name, guid, spec }: { name: string; guid: string; spec: object },
): Promise<unknown> {
  const draft = { metadata: { namespace, name, labels: { [LABELS.guid]: guid } }, spec };
  return retryUntilAcknowledged(`create ${name}`, () =>
    env.kube.create(ref as ResourceRef, draft as never).catch((error: unknown) => {
      // An earlier attempt made it, and its answer was lost.
      if (!isAlreadyExists(error)) throw error;
    }),
  );
}

async function update(world: ServiceWorld, name: string): Promise<void> {
  const { env, namespace, planOf } = world;
  const body = { spec: { planRef: { namespace: SYSTEM_NAMESPACE, name: planOf("plan-large") } } };
  await retryUntilAcknowledged(`update ${name}`, () =>
    env.kube.patch(ServiceInstance, { namespace, name }, { type: "merge", body }),
  );
  await reaches(world, ServiceInstance, name, "update");
}

async function reaches({ env, namespace }: ServiceWorld, ref: Kind, name: string, type: string): Promise<void> {
  await eventually(async () => {
    const { status } = (await env.kube.get(ref as ResourceRef, { namespace, name })) as ServiceInstance;
    const last = status?.lastOperation;
    if (last?.type !== type || last.state !== "succeeded")
      throw new Error(`${name}: ${type} has not succeeded: ${JSON.stringify(last)}`);
  }, STEP_MS);
}

async function remove({ env, namespace }: ServiceWorld, ref: Kind, name: string): Promise<void> {
  const key = { namespace, name };
  await retryUntilAcknowledged(`delete ${name}`, () => ignoreNotFound(env.kube.delete(ref as ResourceRef, key)));
  await eventually(async () => {
    const left = (await env.kube.find(ref as ResourceRef, key)) as ServiceInstance | undefined;
    if (left) throw new Error(`${name} is not gone: ${JSON.stringify(left.status?.lastOperation)}`);
  }, STEP_MS);
}

/** Lists things that the broker has too much or too little, and Secrets of bindings that are gone. */
async function findFaults(world: ServiceWorld, wanted: ReadonlySet<string>): Promise<string[]> {
  const { env, broker, namespace } = world;
  await env.replicas.idle();
  const things = new Set(broker.things());
  const { items: bindings } = await retryUntilAcknowledged("list bindings", () =>
    env.kube.list(ServiceBinding, { namespace }),
  );
  const guids = new Set(bindings.map(({ metadata }) => metadata.labels?.[LABELS.guid]));
  const { items: secrets } = await retryUntilAcknowledged("list Secrets", () => env.kube.list(Secret, { namespace }));
  const owners = secrets.flatMap(({ metadata }) => metadata.labels?.[LABELS.serviceBinding] ?? []);
  return [
    ...[...things.difference(wanted)].map((path) => `the broker has an orphan: ${path}`),
    ...[...wanted.difference(things)].map((path) => `the broker has lost ${path}`),
    ...owners.filter((guid) => !guids.has(guid)).map((guid) => `a Secret of the binding ${guid}, which is gone`),
    ...bindings
      .filter(({ metadata }) => metadata.deletionTimestamp)
      .map(({ metadata }) => `${metadata.name} is terminating`),
  ];
}

/** Statuses of the broker's refusals that nothing but a fault of the platform explains. Another operation under way (422) is none: a new leader cannot know. */
const REFUSALS = new Set([400, 401, 409, 412]);
