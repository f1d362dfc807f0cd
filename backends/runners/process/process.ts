// Runner `process`: runs LRPs as processes of this machine. It wires the parts together; platform/ starts and stops it.
import { join } from "node:path";
import pLimit from "p-limit";
import { type Controller, defineController } from "../../../kube/controller/controller.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { ObjectKey } from "../../../kube/api/object.ts";
import type { Informers } from "../../../kube/cache/informers.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { StatsQuery } from "../../../telemetry/envelope.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import {
  InstanceAway,
  type RemoteProcess,
  type RemoteProcesses,
  type RemoteProcessRequest,
} from "../../remote-process.ts";
import { classController, type ClassPublication } from "../../class-controller.ts";
import { createCgroup, findCgroupParent } from "../../host/cgroup.ts";
import { findIsolation, type IsolateFiles } from "../../host/private-files.ts";
import { locateEnvironment, prepareEnvironment } from "../../host/mounted-files.ts";
import { type DropletLauncher, defaultTimings, type RunnerTimings, type RunnerContext } from "./runner-context.ts";
import { type LeftoverInstances, readLeftoverInstances, terminateUnwantedOnceKnown } from "./leftover-instances.ts";
import { type LrpInstances, openLrpInstances } from "./lrp-instances.ts";
import { instancesFolder, tasksFolder } from "./instance-record.ts";
import { openInstanceShell } from "./instance-shell.ts";
import { followLocalNames } from "./local-names.ts";
import { createTaskRunner, type TaskRunner } from "./task/task-runner.ts";
import { trackSpoiledDroplets } from "./spoiled-droplets.ts";
import { createUsageMeter } from "./usage-meter.ts";
import { createPortPool } from "./port-pool.ts";

/** The name of this class. */
export const processClass = "process";

/** An LRP exists until its instances have ended: the next version's LRP is made after that. */
const FINALIZER = "cupola.dev/runner-process";

/** `status.capabilities` of the class. */
export const processCapabilities: Readonly<Record<string, string>> = {
  dropletKinds: "host",
  rendering: "1",
  indexes: "any",
  finalizer: FINALIZER,
  crashBackoff: "diego",
  logStreams: "stdout,stderr",
  memoryLimit: "polled",
  serviceFiles: "true",
  diskLimit: "polled",
  isolation: "none",
  ssh: "host",
};

export interface ProcessRunnerOptions {
  /** Folder of this runner alone: records, output and TMPDIR of instances. */
  home: string;
  client: KubeClient;
  informers: Informers;
  telemetry: Telemetry;
  launcher: DropletLauncher;
  endpoint?: ClassPublication["endpoint"];
  /** Where it offers to run programs beside its instances. */
  remoteProcesses?: RemoteProcesses;
  /** Gets errors that no condition shows; `what` names the operation. */
  onError: (error: unknown, what: string) => void;
  timings?: Partial<RunnerTimings>;
  now?: () => Date;
  /** Whether this process still leads; asked right before each start. True when left out. */
  isLeader?: () => boolean;
}

export interface ProcessRunner {
  controllers: readonly Controller[];
  /** Finds the instances of an earlier run. Await it before the controllers run. */
  start(): Promise<void>;
  /** `leave`: instances run on, and the next start adopts them. `stop`: SIGTERM, 10 s, SIGKILL for all; resolves when none is left. */
  stop(instances: "leave" | "stop"): Promise<void>;
}

interface Runner {
  options: ProcessRunnerOptions;
  context: RunnerContext;
  instancesByUid: Map<string, LrpInstances>;
  /** By uid: LRPs under deletion, or gone, whose instances are ending. */
  terminating: Map<string, Promise<void>>;
  leftovers: LeftoverInstances | undefined;
  /** Runs TaskRuns. */
  tasks: TaskRunner;
  enqueue: (key: ObjectKey) => void;
  closed: boolean;
  /** Called once, when the runner stops. */
  disposers: (() => void)[];
}

/** Makes the runner; nothing happens before `start` and its controllers. */
export function createProcessRunner(options: ProcessRunnerOptions): ProcessRunner {
  const context = toContext(options);
  const runner: Runner = {
    options,
    context,
    tasks: createTaskRunner({
      context: { ...context, instancesDir: tasksFolder(options.home) },
      informers: options.informers,
    }),
    instancesByUid: new Map(),
    terminating: new Map(),
    leftovers: undefined,
    enqueue: () => undefined,
    closed: false,
    disposers: [],
  };
  return {
    controllers: [
      lrpController(runner),
      classController({
        name: processClass,
        role: "runner",
        capabilities: processCapabilities,
        ...(options.endpoint && { endpoint: options.endpoint }),
      }),
      ...runner.tasks.controllers,
    ],
    start: () => startRunner(runner),
    stop: (instances) => stopRunner(runner, instances),
  };
}

async function startRunner(runner: Runner): Promise<void> {
  const { options, context } = runner;
  runner.leftovers = await readLeftoverInstances(context.instancesDir, context.timings.grace);
  context.ports.reserve(runner.leftovers.ports());
  const watch = options.informers.ensure(LRP);
  runner.disposers.push(
    () => watch.release(),
    watch.store.onChange((change) => {
      // A relist may show another object of the same name.
      if (change.type === "modified" && change.old.metadata.uid !== change.object.metadata.uid)
        closeInstances(runner, change.old);
      if (change.type === "deleted" || change.object.metadata.deletionTimestamp) closeInstances(runner, change.object);
    }),
    options.telemetry.registerStats((query) => stats(runner, query)),
    options.remoteProcesses?.register(processClass, (request) => openRemoteProcess(runner, request)) ??
      (() => undefined),
  );
  await followNames(runner);
  terminateUnwantedOnceKnown(runner.leftovers, watch.store, {
    isOurs: (lrp) => lrp.spec.class === processClass,
    isClosed: () => runner.closed,
  }).catch((error: unknown) => context.onError(error, "ending instances that no LRP wants"));
  await runner.tasks.start();
}

/** The file is there before the first start; routes that come later are written into it. */
async function followNames({ options, context, disposers }: Runner): Promise<void> {
  const onError = (error: unknown): void => context.onError(error, "writing the hosts file of apps");
  const routes = options.informers.ensure(RouteBinding);
  const names = followLocalNames(hostsFile(options.home), routes.store, onError);
  disposers.push(
    () => names.stop(),
    () => routes.release(),
  );
  await names.write().catch(onError);
}

async function stopRunner(runner: Runner, instances: "leave" | "stop"): Promise<void> {
  runner.closed = true;
  for (const dispose of runner.disposers.splice(0)) dispose();
  await Promise.all([
    ...[...runner.instancesByUid.values()].map((entry) => entry[instances]()),
    ...runner.terminating.values(),
    runner.tasks.stop(instances),
  ]);
  if (instances === "stop") await runner.leftovers?.terminateUnwanted(() => false);
  runner.context.meter.close();
}

function toContext(options: ProcessRunnerOptions): RunnerContext {
  const { client, telemetry, launcher, onError } = options;
  const meter = createUsageMeter({ onError: (error) => onError(error, "measuring instances") });
  return {
    instancesDir: instancesFolder(options.home),
    address: "127.0.0.1",
    telemetry,
    launcher,
    meter,
    spoiled: trackSpoiledDroplets((root) => meter.measures(root)),
    ports: createPortPool(),
    timings: { ...defaultTimings, ...options.timings },
    now: options.now ?? (() => new Date()),
    limitStarts: pLimit(8),
    createCgroup: cgroupFactory(onError),
    isolateFiles: isolation(options.home, hostsFile(options.home)),
    isLeader: options.isLeader ?? (() => true),
    resolveEnv: (workload, folder) => prepareEnvironment(client, workload, folder),
    onError,
  };
}

/** Probes the system at the first start of an instance. An instance also runs without a cgroup. */
function cgroupFactory(onError: ProcessRunnerOptions["onError"]): RunnerContext["createCgroup"] {
  let parent: Promise<string | undefined> | undefined;
  return async (guid) => {
    parent ??= findCgroupParent();
    try {
      const folder = await parent;
      return folder === undefined ? undefined : await createCgroup(folder, guid);
    } catch (error) {
      onError(error, "making the cgroup of an instance");
      return undefined;
    }
  };
}

/** The hosts file of all apps, which has the names of their routes. */
function hostsFile(home: string): string {
  return join(home, "hosts");
}

/** Probes the system at the first start. An instance also runs on files that it shares with others. */
function isolation(home: string, hosts: string): IsolateFiles {
  let found: Promise<IsolateFiles | undefined> | undefined;
  return async (launch, place) => {
    found ??= findIsolation(home);
    const isolate = await found.catch((error: unknown) => {
      found = undefined;
      throw error;
    });
    return isolate ? isolate(launch, { ...place, hosts }) : launch.command;
  };
}

function lrpController(runner: Runner): Controller {
  return defineController({
    name: "runner-process",
    for: LRP,
    permissions: [{ resource: Secret, verbs: ["get"] }],
    // Apps find each other by the names of routes.
    reads: [RouteBinding],
    selects: (lrp) => lrp.spec.class === processClass,
    // Processes change without a change in the cluster.
    sources: [(enqueue) => (runner.enqueue = enqueue)],
    reconcile(lrp) {
      if (runner.closed) return {};
      const uid = lrp.metadata.uid ?? "";
      const instances = runner.instancesByUid.get(uid) ?? openInstances(runner, lrp, uid);
      if (instances.lrp() !== lrp) instances.setDesired(lrp);
      return instances.status();
    },
    finalizer: FINALIZER,
    finalize(lrp) {
      if (!runner.closed && !closeInstances(runner, lrp)) return undefined;
      return { ready: { status: "False", reason: "Stopping", message: "its instances are ending" } };
    },
  });
}

function openInstances(runner: Runner, lrp: LRP, uid: string): LrpInstances {
  const { leftovers, context } = runner;
  if (!leftovers) throw new Error("runner process reconciles before start() has returned");
  const { namespace, name } = lrp.metadata;
  const instances = openLrpInstances({
    context,
    lrp,
    adoptRecord: (index) => leftovers.adopt(uid, index),
    onChange: coalesce(() => runner.enqueue({ namespace, name })),
  });
  runner.instancesByUid.set(uid, instances);
  leftovers
    .terminateUnadopted(uid)
    .catch((error: unknown) => context.onError(error, `ending unadopted instances of ${namespace}/${name}`));
  return instances;
}

/** Several changes within `withinMs` cause one call, and so one write. */
function coalesce(call: () => void, withinMs = 15): () => void {
  let isPending = false;
  return () => {
    if (isPending) return;
    isPending = true;
    setTimeout(() => {
      isPending = false;
      call();
    }, withinMs).unref();
  };
}

/** Ends the instances of an LRP that is being deleted or gone. Afterwards its key is enqueued, so that its finalizer goes. False when none is left. */
function closeInstances(runner: Runner, { metadata: { uid = "", namespace, name } }: LRP): boolean {
  if (runner.terminating.has(uid)) return true;
  const instances = runner.instancesByUid.get(uid);
  if (!instances && !runner.leftovers?.has(uid)) return false;
  runner.instancesByUid.delete(uid);
  const termination = (instances?.stop() ?? Promise.resolve())
    // An earlier run may have left instances that nobody has adopted.
    .then(() => runner.leftovers?.terminateUnadopted(uid))
    .catch((error: unknown) => runner.context.onError(error, "stopping the instances of an LRP"))
    .finally(() => {
      runner.terminating.delete(uid);
      runner.enqueue({ namespace, name });
    });
  runner.terminating.set(uid, termination);
  return true;
}

function openRemoteProcess(
  { instancesByUid, context, options: { client } }: Runner,
  request: RemoteProcessRequest,
): Promise<RemoteProcess> {
  const instances = instancesByUid.get(request.lrp.metadata.uid ?? "");
  const record = instances?.record(request.index);
  if (!instances || !record) throw new InstanceAway(`instance ${request.index} is not running`);
  // The instance's files of bound services stay as they were at its start.
  const resolveEnv: RunnerContext["resolveEnv"] = (workload, folder) => locateEnvironment(client, workload, folder);
  return openInstanceShell({ ...context, resolveEnv }, { lrp: instances.lrp(), record }, request);
}

function stats(runner: Runner, query: StatsQuery): ReturnType<LrpInstances["stats"]> {
  const fits = ({ spec, metadata }: LRP): boolean =>
    (query.app === undefined || spec.app.guid === query.app) &&
    (query.process === undefined || spec.processGUID === query.process) &&
    (query.lrp === undefined || metadata.uid === query.lrp);
  return [...runner.instancesByUid.values()]
    .filter((instances) => fits(instances.lrp()))
    .flatMap((instances) => instances.stats());
}
