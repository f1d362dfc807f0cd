// Builder `host`: builds Stagings on this machine. It wires the parts together; platform/ starts and stops it.
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { Staging } from "../../../crds/staging/staging.ts";
import { type Controller, defineController, type ReconcileResult } from "../../../kube/controller/controller.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { ObjectKey } from "../../../kube/api/object.ts";
import type { Informers } from "../../../kube/cache/informers.ts";
import { readerLagMs } from "../../../telemetry/envelope.ts";
import { toSourceTags } from "../../../telemetry/source-tags.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { classController, type ClassPublication } from "../../class-controller.ts";
import { hostEnvironment } from "../../host/host-environment.ts";
import { resolveEnvironment } from "../../host/resolve-environment.ts";
import { checkRoot } from "../../host/root-owner.ts";
import { findBuildpacks, findSiblings, type ProvideFolders, type UsableFolder } from "./buildpack-folders.ts";
import { bundledBuildpacks, bundledFolder } from "./bundled-buildpacks.ts";
import { fetchedBuildpacks } from "./fetched-buildpacks.ts";
import { buildpackController } from "./buildpack-controller.ts";
import { type BuildQueue, createBuildQueue } from "./build-queue.ts";
import { removeOrphanedBuilds } from "./orphaned-builds.ts";
import { CERTIFICATE_HINT, watchCertificateErrors } from "./certificate-errors.ts";
import type { LineSink } from "./lifecycle/run-executable.ts";
import { userLogins } from "./user-credentials.ts";
import { deadlineOf, timeExpired } from "../build-deadline.ts";
import { StagingFailure } from "../staging-failure.ts";
import { type Outcome, planStatus, toLogLines, toOutcome } from "./plan.ts";
import { runStaging, type StagingJob } from "./staging-job.ts";
import { startGarbageCollection, toAppCache } from "./garbage-collection.ts";
import { uploadedBuildpacks } from "./uploaded-buildpacks.ts";
import { newWorkDirectoryName } from "./work-directory.ts";

/** The name of this class. */
export const hostClass = "host";

/** `status.capabilities` of the class. */
export const hostCapabilities: Readonly<Record<string, string>> = {
  lifecycles: "buildpack,cnb",
  dropletKinds: "host",
  isolation: "none",
  memoryLimit: "polled",
  diskLimit: "polled",
};

export interface HostBuilderOptions {
  /** Folder of this builder alone: running builds (`staging/`), build caches (`cache/`), uploaded buildpacks (`buildpacks/`). */
  home: string;
  /** Folder where droplets are built and stay unpacked; the runner uses the same. */
  dropletsDir: string;
  client: KubeClient;
  informers: Informers;
  blobs: BlobStore;
  telemetry: Telemetry;
  endpoint?: ClassPublication["endpoint"];
  /** Gets errors that no status shows; `what` names the operation. */
  onError: (error: unknown, what: string) => void;
  /** Whether this process still leads; asked before anything on the machine is started or changed. */
  isLeader: () => boolean;
  /** Concurrent builds; 2 when left out. */
  concurrency?: number;
  /** Variables for every build: a laptop's proxies and registries. */
  buildSettings?: Record<string, string>;
  /** Where the user's docker keeps its logins, for buildpacks of private registries: a laptop's alone. */
  dockerFolder?: string;
  now?: () => Date;
}

export interface HostBuilder {
  controllers: readonly Controller[];
  /** Ends and removes builds that an earlier run left. Await it before the controllers run. */
  start(): Promise<void>;
  /** Kills all builds and resolves when none is left. The next run builds them again. */
  stop(): Promise<void>;
}

/** With less memory a build cannot even unpack its package. */
const minMemoryMB = 512;

/** Makes the builder; nothing happens before `start` and its controllers. */
export function createHostBuilder(options: HostBuilderOptions): HostBuilder {
  let enqueue: (key: ObjectKey) => void = () => undefined;
  const provide = createProviders(options);
  const queue = createBuildQueue({
    concurrency: options.concurrency ?? 2,
    run: (staging, build) => runBuild(options, staging, { ...build, provide }),
    onChange: (staging) => enqueue(keyOf(staging)),
    onError: (error, staging) => options.onError(error, nameOf(staging)),
    now: options.now ?? (() => new Date()),
  });
  const disposers: (() => void)[] = [];
  return {
    controllers: [
      stagingController(queue, (given) => (enqueue = given)),
      buildpackController(provide),
      classController({
        name: hostClass,
        role: "builder",
        capabilities: { ...hostCapabilities, dropletFolder: options.dropletsDir },
        ...(options.endpoint && { endpoint: options.endpoint }),
      }),
    ],
    async start() {
      const folders = foldersOf(options);
      await removeOrphanedBuilds({ ...options, ...folders });
      disposers.push(
        cancelDeletedStagings(options.informers, queue),
        startGarbageCollection({ ...options, ...folders }),
      );
    },
    async stop() {
      for (const dispose of disposers.splice(0)) dispose();
      await queue.close();
    },
  };
}

function createProviders(options: HostBuilderOptions): ProvideFolders {
  return {
    uploaded: uploadedBuildpacks(options.blobs, foldersOf(options).buildpacksDir),
    fetched: fetchedBuildpacks({
      directory: join(options.home, "fetched-buildpacks"),
      environment: { ...hostEnvironment(), HOME: homedir(), ...options.buildSettings },
      ...(options.dockerFolder && { credentials: userLogins(options.dockerFolder) }),
    }),
  };
}

/** Cancels the builds of Stagings that are deleted, until the returned function is called. */
function cancelDeletedStagings(informers: Informers, queue: BuildQueue): () => void {
  const watch = informers.ensure(Staging);
  const unsubscribe = watch.store.onChange((change) => {
    // A relist may show another object of the same name.
    if (change.type === "modified" && change.old.metadata.uid !== change.object.metadata.uid)
      queue.cancel(change.old.metadata.uid ?? "");
    if (change.type === "deleted" || change.object.metadata.deletionTimestamp)
      queue.cancel(change.object.metadata.uid ?? "");
  });
  return () => {
    unsubscribe();
    watch.release();
  };
}

function stagingController(queue: BuildQueue, onEnqueue: (enqueue: (key: ObjectKey) => void) => void): Controller {
  return defineController({
    name: "staging-host",
    for: Staging,
    // Secrets hold values of environment variables.
    permissions: [{ resource: Secret, verbs: ["get"] }],
    selects: (staging) => staging.spec.class === hostClass,
    sources: [onEnqueue],
    reconcile: (staging) => reconcile(queue, staging),
  });
}

/** A Staging that has ended is left alone. One that is Running without a build here was interrupted with an earlier process; it is built again within its time. */
function reconcile(queue: BuildQueue, staging: Staging): ReconcileResult {
  const { state, startedAt, droplet, error } = staging.status ?? {};
  const ended = state === "Succeeded" || state === "Failed";
  return planStatus(ended ? { startedAt, outcome: { droplet, error } } : queue.getOrStart(staging));
}

interface Build {
  startedAt: string;
  signal: AbortSignal;
}

async function runBuild(
  options: HostBuilderOptions,
  staging: Staging,
  { provide, ...build }: Build & { provide: ProvideFolders },
): Promise<Outcome> {
  const { log, seen } = watchCertificateErrors(createLineSink(options, staging));
  try {
    const chosen = await findInTime(staging, build, { provide, onUnusable: (why) => log("ERR", why) });
    const staged = await runStaging(await toStagingJob(options, staging, { ...build, chosen, log }));
    log("OUT", "Staging complete");
    return toOutcome(staging, { staged, root: rootOf(options, staging), names: chosen });
  } catch (error) {
    build.signal.throwIfAborted();
    // Another process builds it now, so this result does not count.
    if (!options.isLeader()) throw error;
    if (!(error instanceof StagingFailure)) options.onError(error, nameOf(staging));
    const hint = seen() ? CERTIFICATE_HINT : undefined;
    const failure = toFailure(error, hint);
    for (const line of toLogLines(failure, hint)) log("ERR", line);
    // Clients stop reading the log once they see the failure.
    await delay(readerLagMs, undefined, { signal: build.signal });
    return toOutcome(staging, { failure });
  }
}

/** As findBuildpacks, within the time of the build: what it fetches can be large, and a server slow. */
async function findInTime(
  staging: Staging,
  { startedAt, signal }: Build,
  { provide, onUnusable }: { provide: ProvideFolders; onUnusable: (why: string) => void },
): Promise<UsableFolder[]> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(timeExpired(staging)), deadlineOf(staging, startedAt) - Date.now());
  const either = AbortSignal.any([signal, late.signal]);
  try {
    return await findBuildpacks(staging.spec, provide, { signal: either, onUnusable });
  } finally {
    clearTimeout(timer);
  }
}

async function toStagingJob(
  options: HostBuilderOptions,
  staging: Staging,
  build: Build & { chosen: readonly UsableFolder[]; log: LineSink },
): Promise<StagingJob> {
  const { spec } = staging;
  const { content, files } = spec.package;
  if (!content && !files)
    throw new StagingFailure("StagingError", "the builder host builds packages of type bits only");
  checkBuildGuid(options, staging);
  return {
    store: options.blobs,
    space: spec.space.guid,
    uid: staging.metadata.uid ?? "",
    source: content ? { digest: content.digest } : { files: files ?? {} },
    workDir: join(foldersOf(options).stagingDir, newWorkDirectoryName(spec.buildGUID)),
    compileCache: foldersOf(options).compileCacheDir,
    root: rootOf(options, staging),
    request: {
      cache: toAppCache(foldersOf(options).cacheDir, spec),
      stack: spec.stack ?? hostClass,
      user: await resolveEnvironment(options.client, staging.metadata.namespace ?? "", spec.env),
      buildpacks: build.chosen.map((one) => one.folder),
      detect: spec.detect,
      ...(options.buildSettings && { settings: options.buildSettings }),
      available: [...bundledBuildpacks.map(bundledFolder), ...(await findSiblings(build.chosen))],
      companionBuildpack: bundledFolder("procfile"),
    },
    limits: {
      deadline: deadlineOf(staging, build.startedAt),
      timeoutSeconds: spec.timeoutSeconds,
      memoryMB: Math.max(spec.memoryMB, minMemoryMB),
      diskMB: spec.diskMB,
    },
    log: build.log,
    onError: (error) => options.onError(error, nameOf(staging)),
    signal: build.signal,
    isLeader: options.isLeader,
  };
}

function toFailure(error: unknown, hint: string | undefined): StagingFailure {
  const code = error instanceof StagingFailure ? error.code : "StagingError";
  const message = error instanceof Error ? error.message : String(error);
  return new StagingFailure(code, hint === undefined ? message : `${message}; ${hint}`);
}

/** A Build made by kubectl may bring a GUID of its own; it must not lead out of the droplets' folder. */
function checkBuildGuid(options: HostBuilderOptions, staging: Staging): void {
  try {
    checkRoot(rootOf(options, staging), options.dropletsDir);
  } catch (cause) {
    const message = `the build's GUID ${staging.spec.buildGUID} cannot name a folder: it may have letters, digits and dashes`;
    throw new StagingFailure("StagingError", message, { cause });
  }
}

function createLineSink({ telemetry }: HostBuilderOptions, staging: Staging): StagingJob["log"] {
  const { app } = staging.spec;
  const tags = toSourceTags(staging.spec);
  return (stream, message) => telemetry.log({ source: app.guid, sourceType: "STG", stream, message, tags });
}

function keyOf(staging: Staging): ObjectKey {
  return { namespace: staging.metadata.namespace, name: staging.metadata.name };
}

function nameOf(staging: Staging): string {
  return `staging ${staging.metadata.namespace}/${staging.metadata.name}`;
}

function foldersOf({ home }: HostBuilderOptions) {
  return {
    stagingDir: join(home, "staging"),
    cacheDir: join(home, "cache"),
    buildpacksDir: join(home, "buildpacks"),
    compileCacheDir: join(home, "compile-cache"),
  };
}

function rootOf(options: HostBuilderOptions, staging: Staging): string {
  return join(options.dropletsDir, staging.spec.buildGUID);
}
