// What every instance of this runner shares: places, limits, and the services it is given. No state of its own.
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { SourceType } from "../../../telemetry/envelope.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { hostEnvironment } from "../../host/host-environment.ts";
import { prepareLaunch } from "../../host/prepare-launch.ts";
import { restoreDroplet } from "../../host/restore-droplet.ts";
import type { UsageMeter } from "./usage-meter.ts";
import type { PortPool } from "./port-pool.ts";

/** From a droplet to what is spawned. Given from outside, so that the runner can be tried without a builder. */
export interface DropletLauncher {
  /** Makes sure that the droplet lies at its root. */
  restore(droplet: { space: string; digest: string; root: string }): Promise<void>;
  prepare(request: {
    root: string;
    processType: string;
    command?: string;
    env: Record<string, string>;
    signal?: AbortSignal;
  }): Promise<{ command: string[]; env: Record<string, string>; cwd: string }>;
  /** Search path of an app below that of its layers. */
  path: string;
}

/** The launcher over droplets that builder `host` makes. */
export function hostLauncher(blobs: BlobStore, dropletsDir: string): DropletLauncher {
  return {
    restore: async (droplet) => restoreDroplet(blobs, droplet, dropletsDir),
    prepare: prepareLaunch,
    path: hostEnvironment().PATH ?? "/usr/local/bin:/usr/bin:/bin",
  };
}

/** Periods of the runner in milliseconds. */
export interface RunnerTimings {
  /** Between taking an instance out of the routes and its SIGTERM. */
  drain: number;
  /** Between SIGTERM and SIGKILL. */
  grace: number;
  /** Longest pause between two checks of an instance that is starting. */
  startCheck: number;
  /** Least age at which an instance with a process check is measured, and then counts as up. */
  firstSample: number;
  /** Replaces the crash back-off's delays in tests; identity otherwise. */
  backoff: (delayMs: number) => number;
}

export const defaultTimings: RunnerTimings = {
  drain: 1000,
  grace: 10_000,
  startCheck: 1000,
  firstSample: 300,
  backoff: (delayMs) => delayMs,
};

export interface RunnerContext {
  instancesDir: string;
  /** Where the router reaches instances. */
  address: string;
  telemetry: Telemetry;
  launcher: DropletLauncher;
  meter: UsageMeter;
  ports: PortPool;
  timings: RunnerTimings;
  now: () => Date;
  /** Bounds how many instances are being started at once. */
  limitStarts: <T>(start: () => Promise<T>) => Promise<T>;
  /** A cgroup for this instance, by its GUID; undefined where there are none. */
  createCgroup: (guid: string) => Promise<string | undefined>;
  /** False once another process may run the same instances. */
  isLeader: () => boolean;
  /** Values of the LRP's env, secrets read. @throws Error naming the Secret or key that is missing */
  resolveEnv: (lrp: LRP) => Promise<Record<string, string>>;
  onError: (error: unknown, what: string) => void;
}

/** Writes a log line of this LRP's app. */
export type InstanceLog = (
  sourceType: SourceType,
  message: string,
  more?: { stream?: "OUT" | "ERR"; time?: bigint },
) => void;

/** A log of one instance; tags are made once. */
export function instanceLog(telemetry: Telemetry, lrp: LRP, index: number, guid: string): InstanceLog {
  const { app, space, org, processGUID, processType } = lrp.spec;
  const tags = {
    app_id: app.guid,
    app_name: app.name,
    space_id: space.guid,
    space_name: space.name,
    organization_id: org.guid,
    organization_name: org.name,
    process_id: processGUID,
    process_type: processType,
    process_instance_id: guid,
  };
  return (sourceType, message, more) =>
    telemetry.log({ source: app.guid, sourceType, message, instance: String(index), tags, ...more });
}

/** The source type of a process' own output. */
export function outputSource(lrp: LRP): SourceType {
  return `APP/PROC/${lrp.spec.processType.toUpperCase()}`;
}
