// The context that all instances of this runner share: paths, timings and services.
import { GRACE_SECONDS } from "../../grace-seconds.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { SourceType } from "../../../telemetry/envelope.ts";
import { toSourceTags } from "../../../telemetry/source-tags.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { hostEnvironment } from "../../host/host-environment.ts";
import { prepareLaunch } from "../../host/prepare-launch.ts";
import type { IsolateFiles } from "../../host/private-files.ts";
import { restoreDroplet, unmarkRestored } from "../../host/restore-droplet.ts";
import { crashResetMs } from "./crash-backoff.ts";
import type { SpoiledDroplets } from "./spoiled-droplets.ts";
import type { UsageMeter } from "./usage-meter.ts";
import type { PortPool } from "./port-pool.ts";

/** Turns a droplet into a command. Tests replace it, so that they need no builder. */
export interface DropletLauncher {
  /** Unpacks the droplet at its root, unless it is there. @throws LaunchRefused when the root is another droplet's */
  restore(droplet: { space: string; digest: string; root: string }): Promise<void>;
  /** Makes the next `restore` unpack the droplet anew. No program may run from this root. */
  discard(root: string): Promise<void>;
  prepare(request: {
    root: string;
    processType: string;
    command?: string;
    env: Record<string, string>;
    signal?: AbortSignal;
  }): Promise<{ command: string[]; env: Record<string, string>; cwd: string }>;
  /** PATH of an app before its layers prepend theirs. */
  path: string;
}

/** The launcher for droplets of builder `host`. */
export function hostLauncher(blobs: BlobStore, dropletsDir: string): DropletLauncher {
  return {
    restore: async (droplet) => restoreDroplet(blobs, droplet, dropletsDir),
    discard: unmarkRestored,
    prepare: prepareLaunch,
    path: hostEnvironment().PATH ?? "/usr/local/bin:/usr/bin:/bin",
  };
}

/** Periods of the runner, in ms. */
export interface RunnerTimings {
  /** Between removing an instance from the routes and SIGTERM. */
  drain: number;
  /** Between SIGTERM and SIGKILL. */
  grace: number;
  /** Longest pause between two checks of a starting instance. */
  startCheck: number;
  /** Minimum age at which an instance with a process check is measured and counts as up. */
  firstSample: number;
  /** After so long a healthy run an instance's crashes are forgotten. */
  recovery: number;
  /** Shortens the crash back-off's delays in tests; else the identity. */
  backoff: (delayMs: number) => number;
}

export const defaultTimings: RunnerTimings = {
  // The router hears of it within some 50 ms; requests it sent before need a moment to arrive.
  drain: 400,
  grace: GRACE_SECONDS * 1000,
  startCheck: 1000,
  firstSample: 300,
  recovery: crashResetMs,
  backoff: (delayMs) => delayMs,
};

/** An LRP or a TaskRun. */
export interface Workload {
  metadata: Pick<LRP["metadata"], "name" | "namespace">;
  spec: Pick<LRP["spec"], "env" | "serviceFiles">;
}

export interface RunnerContext {
  instancesDir: string;
  /** Address at which the router reaches instances. */
  address: string;
  telemetry: Telemetry;
  launcher: DropletLauncher;
  meter: UsageMeter;
  ports: PortPool;
  timings: RunnerTimings;
  now: () => Date;
  /** Limits concurrent starts. */
  limitStarts: <T>(start: () => Promise<T>) => Promise<T>;
  /** Makes a cgroup for the instance with this GUID; undefined where the system allows none. */
  createCgroup: (guid: string) => Promise<string | undefined>;
  /** Gives a start the droplet's files as they were built, and changes of its own, where the system allows that. */
  isolateFiles: IsolateFiles;
  /** Used where instances share the droplet's files. */
  spoiled: SpoiledDroplets;
  /** False when another process may run the same instances. */
  isLeader: () => boolean;
  /** The env with the values of its Secrets, after the files of bound services are in the folder. @throws Error with the missing Secret or key */
  resolveEnv: (workload: Workload, filesFolder: string) => Promise<Record<string, string>>;
  onError: (error: unknown, what: string) => void;
}

/** Writes a log line of this LRP's app. */
export type InstanceLog = (
  sourceType: SourceType,
  message: string,
  more?: { stream?: "OUT" | "ERR"; time?: bigint },
) => void;

/** The log of one instance. */
export function instanceLog(telemetry: Telemetry, lrp: LRP, index: number, guid: string): InstanceLog {
  const { app, processGUID, processType } = lrp.spec;
  const tags = {
    ...toSourceTags(lrp.spec),
    process_id: processGUID,
    process_type: processType,
    process_instance_id: guid,
  };
  return (sourceType, message, more) =>
    telemetry.log({ source: app.guid, sourceType, message, instance: String(index), tags, ...more });
}
