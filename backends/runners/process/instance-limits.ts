// Holds one instance to its memory and disk: measures it, and reports the first limit that it exceeds.
import { setTimeout as delay } from "node:timers/promises";
import type { ExitProblem } from "../../../crds/lrp/instance-problem.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { InstanceFiles, InstanceRecord } from "./instance-record.ts";
import type { LiveProcess } from "./live-process.ts";
import type { InstanceLog, RunnerContext } from "./runner-context.ts";
import type { Usage } from "./usage-meter.ts";

/** The limits in an LRP's spec, or a TaskRun's. */
export interface LimitedWorkload {
  spec: Pick<LRP["spec"], "memoryMB" | "diskMB" | "processType" | "droplet"> & {
    healthCheck: Pick<LRP["spec"]["healthCheck"], "type">;
  };
}

/** The parts of an instance's run that its limits concern. */
export interface LimitedInstance {
  context: Pick<RunnerContext, "meter" | "timings" | "onError">;
  lrp: LimitedWorkload;
  record: Pick<InstanceRecord, "startedAt">;
  files: Pick<InstanceFiles, "dir">;
  events: { onUsage: (usage: Usage) => void };
  log: InstanceLog;
}

export interface LimitsWatch {
  /** Resolves when a limit is exceeded. */
  exceeded: Promise<{ exceeded: ExitProblem }>;
  /** Measures now. False when the instance is over a limit, and `exceeded` has resolved. */
  isWithin: () => Promise<boolean>;
  stop: () => void;
}

/** Watches until `stop` is called. */
export function watchInstanceLimits(
  { context, lrp, record, files, events, log }: LimitedInstance,
  live: LiveProcess,
): LimitsWatch {
  const dirs = [files.dir, ...(lrp.spec.droplet.root ? [lrp.spec.droplet.root] : [])];
  let report: (value: { exceeded: ExitProblem }) => void = () => undefined;
  let isExceeded = false;
  const exceeded = new Promise<{ exceeded: ExitProblem }>((resolve) => (report = resolve));
  const stopMeter = context.meter.add(live.pid, dirs, (usage) => {
    events.onUsage(usage);
    const limit = exceededLimit(usage, lrp);
    if (!limit || isExceeded) return;
    isExceeded = true;
    log("CELL", limit.message, { stream: "ERR" });
    report({ exceeded: limit.problem });
  });
  const isWithin = async (): Promise<boolean> => {
    // A process check passes at once, before the program is loaded; its memory is meaningful a moment later.
    const age = Date.now() - Date.parse(record.startedAt);
    if (lrp.spec.healthCheck.type === "process") await delay(Math.max(0, context.timings.firstSample - age));
    await context.meter.sampleNow(live.pid).catch((error: unknown) => context.onError(error, "measuring instances"));
    return !isExceeded;
  };
  return { exceeded, isWithin, stop: stopMeter };
}

/** The limit that this usage exceeds, if any. Pure. */
export function exceededLimit(
  usage: Pick<Usage, "mem" | "disk">,
  lrp: LimitedWorkload,
): { problem: ExitProblem; message: string } | undefined {
  const { memoryMB, diskMB, processType } = lrp.spec;
  if (usage.mem > memoryMB * 2 ** 20)
    return {
      problem: { kind: "outOfMemory", processType, memoryMB },
      message: `The instance uses ${toMB(usage.mem)} MB of memory and may use ${memoryMB} MB: it is stopped`,
    };
  if (usage.disk > diskMB * 2 ** 20)
    return {
      problem: { kind: "diskFull", processType, diskMB },
      message: `The instance uses ${toMB(usage.disk)} MB of disk and may use ${diskMB} MB: it is stopped`,
    };
  return undefined;
}

function toMB(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20);
}
