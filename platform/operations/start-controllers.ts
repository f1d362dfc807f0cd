// Starts backends and controllers: those that every replica runs, and those that one elected replica runs for all.
import type { RunningLeaderWork } from "../../kube/lease/leader-work.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { memoizeLast } from "../../kube/cache/memoize-last.ts";
import { runControllers, type ControllerRun } from "../../kube/controller/run-controllers.ts";
import type { UnsyncedController } from "../../kube/cache/unsynced-watches.ts";
import { createReconcileTraces, type ReconcileTraces } from "../../kube/tracing/trace-reconciles.ts";
import { ANNOTATIONS } from "../../crds/labels.ts";
import { createDropletImages } from "../../blobs/registry/images/make-droplet-image.ts";
import { cupolaVersion } from "../version.ts";
import { createControllers, policyControllers, spokeControllers } from "../../controllers/controllers.ts";
import {
  listBackendOperations,
  listTranslatorControllers,
  listTranslatorSingletons,
  type Backend,
} from "./backends.ts";
import { createAgentWork } from "./agent-work.ts";
import { createPolicySingleton } from "./policies.ts";
import { createBlobRemovalTask } from "./blob-removal.ts";
import { createWatchAudit } from "./watch-audit.ts";
import { createImageRemovalTask } from "./image-removal.ts";
import { createServiceUsageRecorder } from "./service-usage-recorder.ts";
import { createUsageRecorder } from "./usage-recorder.ts";
import { listBuilderControllers, toBuildRegistry } from "./builders.ts";
import { isKnownToAll } from "../leases/live-versions.ts";
import { findLiveMembers } from "../leases/replica-membership.ts";
import { toSingleton, runSingletons, type Singleton } from "../leases/singletons.ts";
import { createLogDrains } from "../telemetry/log-drains.ts";
import type { PlatformContext, PeerServers } from "../platform-context.ts";
import { CONTROLLER_SETTINGS } from "./controller-settings.ts";
import { presentStaleCaches, presentWatchGaps } from "../readiness.ts";

/** The backends that every replica runs at once. */
export async function startBackends(
  context: PlatformContext,
  peerServers: PeerServers | undefined,
): Promise<Backend[]> {
  const { options, readiness, disposables, shutdownMode } = context;
  const backends = listBackendOperations(options.operations).filter(({ singletonKinds }) => !singletonKinds);
  return Promise.all(
    backends.map(async ({ operation, create }) => {
      const backend = create({ ...toBackendDeps(context, peerServers), client: context.client, isLeader: () => true });
      disposables.defer(() => backend.stop(shutdownMode.instances));
      await backend.start();
      readiness.addCheck(operation, () => (backend.ready?.() ?? true) || "caches not synced");
      return backend;
    }),
  );
}

function toBackendDeps(
  { informers, blobs, remoteProcesses, options, log }: PlatformContext,
  peerServers: PeerServers | undefined,
): Omit<Parameters<ReturnType<typeof listBackendOperations>[number]["create"]>[0], "client" | "isLeader"> {
  if (!peerServers?.telemetry || !peerServers.server)
    throw new Error("a backend needs the telemetry side of its process");
  return {
    informers,
    telemetry: peerServers.telemetry,
    blobs,
    remoteProcesses,
    data: options.data,
    ...omitUndefined({ buildSettings: options.buildSettings, dockerFolder: options.dockerFolder }),
    log,
    endpoint: { url: peerServers.server.url, secretRef: peerServers.secretRef },
  };
}

/** @throws Error in a process that does not judge by operator policy */
function toControllersOptions({
  apiURL,
  blobs,
  registry,
  options,
  policies,
  clusters,
  membership,
}: PlatformContext): Parameters<typeof createControllers>[0] {
  if (!policies?.gate) throw new Error("the controllers need the policies of their process");
  return {
    clusters,
    apiURL,
    otherAPIHosts: options.login?.tokenLoginHosts ?? [],
    startGate: policies.gate,
    isKnownToAll: (feature) => isKnownToAll(feature, findLiveMembers(membership)),
    hasContent: (space, digest) => blobs.has(space, digest),
    makeDropletImage: registry && createDropletImages(registry.client, registry.prefix),
  };
}

/** The controllers that every replica runs at once; undefined when there are none. */
export function startControllers(context: PlatformContext, backends: readonly Backend[]): ControllerRun | undefined {
  const { client, informers, blobs, registry, log, options, disposables, readiness, metrics, clusters } = context;
  const cfControllers = options.operations.includes("controllers")
    ? createControllers(toControllersOptions(context))
    : [];
  const controllers = [
    ...cfControllers,
    ...(options.operations.includes("policies") ? policyControllers : []),
    ...(options.operations.includes("agent") ? spokeControllers(cupolaVersion()) : []),
    ...listTranslatorControllers(options.operations),
    ...listBuilderControllers(options.operations, { blobs, registry: registry && toBuildRegistry(registry) }),
    ...backends.flatMap((backend) => backend.controllers),
  ].filter(({ kind }) => kind !== "singleton");
  if (controllers.length === 0) return undefined;
  const abort = new AbortController();
  const run = runControllers({
    client,
    controllers,
    informers,
    ownership: CONTROLLER_SETTINGS,
    remote: clusters,
    signal: abort.signal,
    log,
    metrics: metrics?.controllers,
    traces: reconcileTraces(context),
  });
  disposables.defer(() => {
    abort.abort();
    return run.stopped;
  });
  const presentGaps = memoizeLast((waiting: readonly UnsyncedController[]) =>
    presentWatchGaps(waiting.flatMap(({ watches: gaps }) => gaps)),
  );
  readiness.addCheck("controllers", () => presentGaps(run.unsyncedControllers()));
  readiness.addCheck("caches of controllers", () => presentStaleCaches(run.staleKinds()));
  return run;
}

function reconcileTraces({ tracing }: PlatformContext): ReconcileTraces | undefined {
  return tracing && createReconcileTraces({ tracing, annotation: ANNOTATIONS.traceparent });
}

/** Work that one elected replica does for all. */
export function startSingletons(
  context: PlatformContext,
  peerServers: PeerServers | undefined,
  backends: readonly Backend[],
): RunningLeaderWork[] {
  const { client, informers, log, options, disposables, readiness, membership, metrics } = context;
  const singletons = [
    ...listBackendSingletons(context, peerServers),
    ...listControllerSingletons(context, backends),
    ...listTelemetrySingletons(context, peerServers),
  ];
  const abort = new AbortController();
  const identity = options.leaderIdentity ?? membership.identity;
  const elected = runSingletons(singletons, {
    client,
    informers,
    remote: context.clusters,
    identity,
    leaseSeconds: options.leaseSeconds,
    signal: abort.signal,
    log,
    metrics: metrics?.controllers,
    traces: reconcileTraces(context),
  });
  disposables.defer(async () => {
    abort.abort();
    await Promise.all(elected.map((each) => each.stopped));
  });
  for (const each of elected) {
    const presentGaps = memoizeLast(presentWatchGaps);
    readiness.addCheck(each.name, () => presentGaps(each.unsyncedWatches()));
    readiness.addCheck(`caches of ${each.name}`, () => presentStaleCaches(each.staleKinds()));
  }
  return elected;
}

function listBackendSingletons(context: PlatformContext, peerServers: PeerServers | undefined): Singleton[] {
  return listBackendOperations(context.options.operations).flatMap(({ operation, create, singletonKinds }) => {
    if (!singletonKinds) return [];
    const startTerm: Singleton["startTerm"] = (term, client) => {
      const backend = create({ ...toBackendDeps(context, peerServers), client, isLeader: () => term.isHeld() });
      return {
        controllers: backend.controllers,
        start: () => backend.start(),
        stop: () => backend.stop(context.shutdownMode.instances),
      };
    };
    return [{ operation, requiredKinds: singletonKinds, startTerm }];
  });
}

function listTelemetrySingletons(context: PlatformContext, peerServers: PeerServers | undefined): Singleton[] {
  const drains =
    context.options.operations.includes("log-drains") && peerServers
      ? createLogDrains(context, peerServers)
      : undefined;
  return drains ? [drains] : [];
}

function listControllerSingletons(context: PlatformContext, backends: readonly Backend[]): Singleton[] {
  const { blobs, registry, informers, log, options, membership, clusters } = context;
  const { operations, unusedContentMs: graceMs } = options;
  const { read } = informers;
  const removal = operations.includes("controllers")
    ? toSingleton("controllers", createControllers(toControllersOptions(context)), [
        createBlobRemovalTask({ blobs, read, clusters: clusters?.provider, log, graceMs }),
        createWatchAudit({ informers, log, writer: membership.identity }),
        createUsageRecorder({ informers, log, writer: membership.identity }),
        createServiceUsageRecorder({ informers, log, writer: membership.identity }),
        ...(registry ? [createImageRemovalTask({ registry, read, clusters: clusters?.provider, log, graceMs })] : []),
      ])
    : undefined;
  const localRouter = operations.includes("local-router")
    ? toSingleton(
        "local-router",
        backends.flatMap(({ controllers }) => controllers),
      )
    : undefined;
  const policies = operations.includes("policies") ? createPolicySingleton({ informers, log, membership }) : undefined;
  return [
    ...listTranslatorSingletons(operations),
    ...[removal, localRouter, policies, createAgentWork(context)].filter((post) => post !== undefined),
  ];
}
