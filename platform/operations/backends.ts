// The builders, runners and routers that one process runs, behind one interface.
import { join } from "node:path";
import type { Logger } from "pino";
import type { BlobStore } from "../../blobs/blob-store.ts";
import { createHostBuilder } from "../../backends/builders/host/host.ts";
import type { RemoteProcesses } from "../../backends/remote-process.ts";
import { gatewayRouter } from "../../backends/routers/gateway/gateway.ts";
import { ingressRouter } from "../../backends/routers/ingress/ingress.ts";
import { internalDNSRouter } from "../../backends/routers/internal-dns/internal-dns.ts";
import { createKeyring } from "../../backends/routers/local/route-service-key.ts";
import { createLocalRouter } from "../../backends/routers/local/local.ts";
import {
  createInstanceIndex,
  INSTANCE_INDEX_WATCHES,
} from "../../backends/runners/deployment/instance-index/instance-index.ts";
import { deploymentRunner } from "../../backends/runners/deployment/deployment.ts";
import { statefulSetRunner } from "../../backends/runners/statefulset/statefulset.ts";
import { jobRunner } from "../../backends/runners/job/job.ts";
import { hostLauncher } from "../../backends/runners/process/runner-context.ts";
import { createProcessRunner } from "../../backends/runners/process/process.ts";
import { dnsRecordsController } from "../../controllers/route-binding/dns-records.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Controller } from "../../kube/controller/controller.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Staging } from "../../crds/staging/staging.ts";
import { TaskRun } from "../../crds/task-run/task-run.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { AppHandler } from "../http/http-server.ts";
import type { Singleton } from "../leases/singletons.ts";
import type { Operation } from "./operations.ts";

/** Dependencies of the backends of one process. */
export interface BackendDeps {
  client: KubeClient;
  informers: Informers;
  telemetry: Telemetry;
  /** Endpoint of this process's logs and stats; published on the class. */
  endpoint: { url: string; secretRef: { name: string } };
  blobs: BlobStore;
  /** Where runners offer to run programs beside their instances. */
  remoteProcesses: RemoteProcesses;
  /** Folder of this process's backends. */
  data: string;
  /** Variables for every build on this machine. */
  buildSettings?: Record<string, string>;
  /** Where docker keeps the logins of this machine's user. */
  dockerFolder?: string;
  log: Logger;
  /** Whether this process still leads; always true where every replica runs the backend. */
  isLeader: () => boolean;
}

/** A backend of this process. */
export interface Backend {
  controllers: readonly Controller[];
  /** Called before the controllers run. */
  start(): Promise<void> | void;
  /** Called after the controllers have stopped. `end` also stops all processes of apps. */
  stop(instances: "keep" | "end"): Promise<void>;
  apps?: AppHandler;
  /** Whether it can serve; always, if absent. */
  ready?(): boolean;
}

interface BackendFactory {
  create: (deps: BackendDeps) => Backend;
  /** Set for a backend that acts on one machine, so that only the leader runs it. The caches of these kinds must be filled before it takes over. */
  singletonKinds?: readonly ResourceRef[];
  /** Kinds that it watches besides those of its controllers. */
  watchedKinds?: readonly ResourceRef[];
}

const BACKEND_FACTORIES: Partial<Record<Operation, BackendFactory>> = {
  "host-builder": { create: hostBuilder, singletonKinds: [Staging, Droplet, LRP, Buildpack, BackendClass] },
  "process-runner": { create: processRunner, singletonKinds: [LRP, TaskRun, BackendClass] },
  "local-router": { create: localRouter, watchedKinds: [LRP, PlacementDecision] },
};

/** A backend of one of these operations. */
export interface BackendOperation extends BackendFactory {
  operation: Operation;
}

/** The backends among these operations. All of them publish logs or stats. */
export function listBackendOperations(operations: readonly Operation[]): BackendOperation[] {
  return operations.flatMap((operation) => {
    const factory = BACKEND_FACTORIES[operation];
    return factory ? [{ operation, ...factory }] : [];
  });
}

/** Does any of these operations publish logs or stats? */
export function hasTelemetry(operations: readonly Operation[]): boolean {
  return operations.includes("logs") || listBackendOperations(operations).length > 0;
}

/** The controllers of the backends among these operations, for their declarations only: they have no dependencies and must not run. */
export function listBackendControllers(operations: readonly Operation[]): Controller[] {
  const noDeps = { data: "", endpoint: { url: "", secretRef: { name: "" } } } as unknown as BackendDeps;
  return listBackendOperations(operations).flatMap(({ create }) => create(noDeps).controllers);
}

/** For declarations only. */
const NO_CLIENT = {} as KubeClient;

/** Seconds after which another replica gives the indexes: new pods wait for it. Shorter, and a busy API server would cost the leader its Lease. */
const INSTANCE_INDEX_LEASE_SECONDS = 10;

/** Operations of the elected replica, besides the backends. */
export function listTranslatorSingletons(operations: readonly Operation[]): Singleton[] {
  if (!operations.includes("instance-index")) return [];
  return [
    {
      operation: "instance-index",
      requiredKinds: [LRP],
      requiredWatches: INSTANCE_INDEX_WATCHES,
      maxLeaseSeconds: INSTANCE_INDEX_LEASE_SECONDS,
      startTerm: (_term, client) => createInstanceIndex(client),
    },
  ];
}

/** Operations that only translate objects to objects: controllers without anything to start or stop. */
const TRANSLATOR_CONTROLLERS: Partial<Record<Operation, () => Controller[]>> = {
  "deployment-runner": deploymentRunner,
  "instance-index": () => [...createInstanceIndex(NO_CLIENT).controllers],
  "statefulset-runner": statefulSetRunner,
  "job-runner": jobRunner,
  "ingress-router": ingressRouter,
  "gateway-router": gatewayRouter,
  "internal-dns": internalDNSRouter,
  "dns-records": () => [dnsRecordsController()],
};

/** The controllers of those operations. One that several of them share runs once. */
export function listTranslatorControllers(operations: readonly Operation[]): Controller[] {
  return [...new Set(operations.flatMap((operation) => TRANSLATOR_CONTROLLERS[operation]?.() ?? []))];
}

function hostBuilder({ data, log, ...deps }: BackendDeps): Backend {
  return createHostBuilder({
    ...deps,
    home: join(data, "builds"),
    dropletsDir: join(data, "droplets"),
    onError: (err, what) => log.error({ err }, what),
  });
}

function processRunner({ blobs, data, log, ...deps }: BackendDeps): Backend {
  const { client, informers, telemetry, endpoint, remoteProcesses, isLeader } = deps;
  const runner = createProcessRunner({
    home: join(data, "instances"),
    client,
    informers,
    telemetry,
    endpoint,
    remoteProcesses,
    launcher: hostLauncher(blobs, join(data, "droplets")),
    isLeader,
    onError: (err, what) => log.error({ err }, what),
  });
  return {
    controllers: runner.controllers,
    start: () => runner.start(),
    stop: (instances) => runner.stop(instances === "end" ? "stop" : "leave"),
  };
}

function localRouter({ client, informers, telemetry, endpoint }: BackendDeps): Backend {
  const keyring = createKeyring(client);
  const router = createLocalRouter({ informers, telemetry, endpoint, keyring });
  return {
    controllers: router.controllers,
    start: () => {
      keyring.keys();
      router.start();
    },
    stop: () => router.stop(),
    ready: () => router.isReady(),
    apps: {
      request: (request, response) => router.handleRequest(request, response),
      upgrade: (request, socket, head) => router.handleUpgrade(request, socket, head),
    },
  };
}
