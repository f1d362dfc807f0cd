// Builder `host`: Stagings as builds on this machine. Wires the parts together; platform/ starts and stops it.
import { join } from "node:path";
import pLimit from "p-limit";
import type { BlobStore } from "../../../blobs/store.ts";
import { Staging } from "../../../crds/staging/staging.ts";
import { type Controller, defineController, type ReconcileResult } from "../../../kube/controller.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { ObjectKey } from "../../../kube/object.ts";
import type { Watches } from "../../../kube/watches.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { classController, type ClassPublication } from "../../class.ts";
import { readEnvironment } from "../../host/secret-env.ts";
import { ownBuildpacks, ownFolder, toFolders } from "./buildpack-folders.ts";
import { clearLeftovers } from "./leftovers.ts";
import { StagingFailure } from "./lifecycle/failure.ts";
import { type Outcome, planStatus, toOutcome } from "./plan.ts";
import { runStaging, type StagingJob } from "./staging-job.ts";

/** The name of this class. */
export const hostClass = "host";

/** What the class can do, as its record says. */
export const hostCapabilities: Readonly<Record<string, string>> = { lifecycles: "buildpack,cnb", dropletKinds: "host", isolation: "none", memoryLimit: "polled", diskLimit: "polled" };

export interface HostBuilderOptions {
  /** Belongs to this builder: builds under way (`staging/`) and caches by app (`cache/`). */
  home: string;
  /** Where droplets are built and stay unpacked; the same as the runner's. */
  dropletsDir: string;
  client: KubeClient;
  watches: Watches;
  blobs: BlobStore;
  telemetry: Telemetry;
  endpoint?: ClassPublication["endpoint"];
  /** Faults that no status shows; `what` says where. */
  onError: (error: unknown, what: string) => void;
  /** Builds at once; 2 unless said. */
  concurrency?: number;
  now?: () => Date;
}

export interface HostBuilder {
  controllers: readonly Controller[];
  /** Ends and removes what an earlier run left. Await it before the controllers run. */
  start(): Promise<void>;
  /** Kills all builds; resolves when none is left. They start again with the next run. */
  stop(): Promise<void>;
}

interface Job {
  key: ObjectKey;
  startedAt: string;
  abort: AbortController;
  /** Set at the end. */
  outcome: Outcome | undefined;
  done: Promise<void>;
}

interface Builder {
  options: HostBuilderOptions;
  jobs: Map<string, Job>;
  wake: (key: ObjectKey) => void;
  limit: ReturnType<typeof pLimit>;
  now: () => Date;
  closed: boolean;
}

/** A build below this cannot even unpack its package. */
const leastMemoryMB = 512;

/** Makes the builder; nothing happens before `start` and its controllers. */
export function createHostBuilder(options: HostBuilderOptions): HostBuilder {
  const builder: Builder = { options, jobs: new Map(), wake: () => undefined, limit: pLimit(options.concurrency ?? 2), now: options.now ?? (() => new Date()), closed: false };
  const cleanUp: (() => void)[] = [];
  return {
    controllers: [stagingController(builder), classController({ name: hostClass, role: "builder", capabilities: hostCapabilities, ...(options.endpoint && { endpoint: options.endpoint }) })],
    async start() {
      await clearLeftovers(stagingDir(options), options.dropletsDir);
      const watch = options.watches.ensure(Staging);
      cleanUp.push(
        () => watch.release(),
        watch.store.onChange((change) => {
          // A relist may show another object of the same name.
          if (change.type === "modified" && change.old.metadata.uid !== change.object.metadata.uid) forget(builder, change.old.metadata.uid ?? "");
          if (change.type === "deleted" || change.object.metadata.deletionTimestamp) forget(builder, change.object.metadata.uid ?? "");
        }),
      );
    },
    async stop() {
      builder.closed = true;
      for (const undo of cleanUp.splice(0)) undo();
      const jobs = [...builder.jobs.values()];
      for (const job of jobs) job.abort.abort();
      await Promise.all(jobs.map((job) => job.done));
    },
  };
}

function stagingController(builder: Builder): Controller {
  return defineController({
    name: "staging-host",
    for: Staging,
    selects: (staging) => staging.spec.class === hostClass,
    sources: [(wake) => void (builder.wake = wake)],
    reconcile: (staging) => reconcile(builder, staging),
  });
}

/** An ended Staging stays as it is. One that runs without a job of ours was cut off with an earlier process, and is built again while its time lasts. */
function reconcile(builder: Builder, staging: Staging): ReconcileResult {
  const { state, droplet, error } = staging.status ?? {};
  if (state === "Succeeded" || state === "Failed") return planStatus({ startedAt: staging.status?.startedAt, outcome: { droplet, error } });
  const job = builder.jobs.get(staging.metadata.uid ?? "") ?? startJob(builder, staging);
  return planStatus({ startedAt: job.startedAt, outcome: job.outcome });
}

function startJob(builder: Builder, staging: Staging): Job {
  const uid = staging.metadata.uid ?? "";
  const startedAt = staging.status?.startedAt ?? builder.now().toISOString();
  const job: Job = { key: { namespace: staging.metadata.namespace, name: staging.metadata.name }, startedAt, abort: new AbortController(), outcome: undefined, done: Promise.resolve() };
  builder.jobs.set(uid, job);
  job.done = builder.limit(() => runJob(builder, staging, job));
  return job;
}

async function runJob(builder: Builder, staging: Staging, job: Job): Promise<void> {
  const log = logOf(builder, staging);
  try {
    const staged = await runStaging(await toStagingJob(builder, staging, job));
    job.outcome = toOutcome(staging, { staged, root: rootOf(builder.options, staging) });
    log("OUT", "Staging complete");
  } catch (error) {
    if (job.abort.signal.aborted) return;
    if (!(error instanceof StagingFailure)) builder.options.onError(error, `staging ${job.key.namespace}/${job.key.name}`);
    job.outcome = toOutcome(staging, { failure: error instanceof StagingFailure ? error : new StagingFailure("StagingError", error instanceof Error ? error.message : String(error)) });
    log("ERR", `Staging failed: ${job.outcome.error?.message ?? ""}`);
  }
  if (!builder.closed) builder.wake(job.key);
}

async function toStagingJob(builder: Builder, staging: Staging, job: Job): Promise<StagingJob> {
  const { options } = builder;
  const { spec } = staging;
  if (!spec.package.content) throw new StagingFailure("StagingError", "the builder host builds packages of type bits only");
  const timeoutMs = spec.timeoutSeconds * 1000;
  return {
    store: options.blobs,
    space: spec.space.guid,
    content: spec.package.content.digest,
    work: join(stagingDir(options), spec.buildGUID),
    root: rootOf(options, staging),
    request: {
      cache: join(options.home, "cache", spec.app.guid),
      stack: spec.stack ?? hostClass,
      user: await readEnvironment(options.client, staging.metadata.namespace ?? "", spec.env),
      buildpacks: toFolders(spec.buildpacks),
      detect: spec.detect || spec.buildpacks.length === 0,
      available: ownBuildpacks.map(ownFolder),
      companion: ownFolder("procfile"),
    },
    // Time runs from the first start, so that a build that takes the platform down with it is not tried for ever.
    limits: { deadline: Date.parse(job.startedAt) + timeoutMs, timeoutSeconds: spec.timeoutSeconds, memoryMB: Math.max(spec.memoryMB, leastMemoryMB), diskMB: spec.diskMB },
    log: logOf(builder, staging),
    onError: (error) => options.onError(error, `staging ${job.key.namespace}/${job.key.name}`),
    signal: job.abort.signal,
  };
}

function logOf(builder: Builder, staging: Staging): StagingJob["log"] {
  const { app, space, org } = staging.spec;
  const tags = { app_id: app.guid, app_name: app.name, space_id: space.guid, space_name: space.name, organization_id: org.guid, organization_name: org.name };
  return (stream, message) => builder.options.telemetry.log({ source: app.guid, sourceType: "STG", stream, message, tags });
}

function forget(builder: Builder, uid: string): void {
  builder.jobs.get(uid)?.abort.abort();
  builder.jobs.delete(uid);
}

function stagingDir(options: HostBuilderOptions): string {
  return join(options.home, "staging");
}

function rootOf(options: HostBuilderOptions, staging: Staging): string {
  return join(options.dropletsDir, staging.spec.buildGUID);
}
