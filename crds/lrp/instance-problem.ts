// Why an instance does not run, and what to do about it: one wording for all runners, in `details`, conditions, Events and the app's log. Pure.
import { MAX_DETAILS } from "../details.ts";

/** `why` is the text of Kubernetes or of the health check, without a full stop. Sizes in MB, times in seconds. */
export type InstanceProblem =
  | ExitProblem
  | { kind: "notHealthyYet"; why: string }
  | { kind: "neverHealthy"; seconds: number; why: string }
  | { kind: "unhealthy"; why: string }
  | { kind: "imageUnavailable"; image: string; why: string }
  | { kind: "secretMissing"; variable?: string; secret: string; key?: string }
  | { kind: "runsAsRoot"; image: string; why: string }
  | { kind: "cannotStart"; why: string }
  | { kind: "evicted"; why: string }
  | { kind: "notReady"; why: string }
  | { kind: "quotaExceeded"; why: string }
  | { kind: "unschedulable"; why: string }
  | { kind: "waitsForIndex" };

/** Its main program has ended. */
export type ExitProblem =
  | { kind: "exited"; processType: string; status?: number; signal?: string }
  | { kind: "outOfMemory"; processType: string; memoryMB: number }
  | { kind: "diskFull"; processType: string; diskMB: number };

const SEE_LOG = "cf logs --recent shows its last lines";

/** Reason and next step, as in `LRP.status.instances[].details`. */
export function describeProblem(problem: InstanceProblem): string {
  const next = NEXT_STEPS[problem.kind];
  const room = MAX_DETAILS - next.length - 2;
  return `${describeReason(problem).slice(0, room)}; ${next}`;
}

/** Whether the details only say that a start is still under way. An app that listens on a wrong port is a mistake at any time. */
export function isStillStarting(details: string): boolean {
  return details.startsWith(EFFECTS.notHealthyYet) && !details.includes("it listens on port");
}

const NEXT_STEPS: Readonly<Record<InstanceProblem["kind"], string>> = {
  exited: SEE_LOG,
  outOfMemory: "give it more with cf scale -m, or make it use less",
  diskFull: "give it more with cf scale -k, or make it write less",
  notHealthyYet: "the app must listen on the port in PORT, at 0.0.0.0",
  neverHealthy: "the app must listen on the port in PORT, at 0.0.0.0; cf set-health-check changes the check",
  unhealthy: SEE_LOG,
  imageUnavailable: "check the image's name and tag and the registry's credentials, then push again",
  secretMissing: "create it, or change the app's variables and restart it",
  cannotStart: "it is tried again; if that does not help, check the start command and push again",
  runsAsRoot:
    "give the image a numeric USER other than 0, or set the process's user to such a number (Process.spec.user)",
  evicted: "it is started again, on another node where there is one",
  notReady: "it gets no requests until its readiness check succeeds",
  quotaExceeded: "delete what is not needed, scale it down, or ask an operator for a higher quota",
  unschedulable: "scale the app down with cf scale -m, or ask an operator for more nodes",
  waitsForIndex: "an operator must start the operation instance-index of Cupola",
};

function describeReason(problem: InstanceProblem): string {
  switch (problem.kind) {
    case "exited":
      return `${toOutputSource(problem.processType)}: Exited with ${toStatus(problem)}`;
    case "outOfMemory":
      return `${toOutputSource(problem.processType)}: Exited with status 137 (out of memory: it may use ${problem.memoryMB} MB)`;
    case "diskFull":
      return `${toOutputSource(problem.processType)}: Exited with status 137 (disk quota exceeded: it may use ${problem.diskMB} MB)`;
    case "secretMissing":
      return describeMissingSecret(problem);
    case "waitsForIndex":
      return "No instance index has been assigned";
    default:
      return describeCause(problem);
  }
}

type CausedProblem = Extract<InstanceProblem, { why: string }>;

function describeCause(problem: CausedProblem): string {
  return `${describeEffect(problem)}: ${problem.why}`;
}

function describeEffect(problem: CausedProblem): string {
  if (problem.kind === "imageUnavailable") return `Image ${problem.image} cannot be pulled`;
  if (problem.kind === "runsAsRoot") return `Image ${problem.image} may not run as root`;
  if (problem.kind === "neverHealthy") return `Instance never healthy after ${problem.seconds}s`;
  return EFFECTS[problem.kind];
}

const EFFECTS = {
  notHealthyYet: "Instance not healthy yet",
  unhealthy: "Instance became unhealthy: Liveness check unsuccessful",
  notReady: "Instance is not ready: Readiness check unsuccessful",
  cannotStart: "The instance cannot be started",
  evicted: "The cluster ended the instance",
  quotaExceeded: "The quota of the space's namespace is used up",
  unschedulable: "No node has room for the instance",
} as const;

function describeMissingSecret({ variable, secret, key }: Extract<InstanceProblem, { kind: "secretMissing" }>): string {
  const what = key === undefined ? `Secret ${secret}` : `key ${key} of Secret ${secret}`;
  return `${variable === undefined ? "The app" : `Variable ${variable}`} needs ${what}, which does not exist`;
}

/** `status 137 (SIGKILL)`. */
function toStatus({ status, signal }: { status?: number; signal?: string }): string {
  // Only the process that started an instance learns its exit status.
  if (status === undefined) return "unknown status (the platform restarted while it ran)";
  return `status ${status}${signal === undefined ? "" : ` (${signal})`}`;
}

/** The last line of an instance's output, in the words of Diego. */
export function toExitLine(problem: { kind: ExitProblem["kind"]; status?: number; signal?: string }): string {
  if (problem.kind === "exited") return `Exit ${toStatus(problem)}`;
  return `Exit status 137 (${problem.kind === "outOfMemory" ? "out of memory" : "disk quota exceeded"})`;
}

/** The line of source API after a crash, as Cloud Controller writes it. */
export function toCrashLine(processType: string): string {
  return `Process has crashed with type: "${processType}"`;
}

/** The source type of a process's output, as in `[APP/PROC/WEB/0]`. */
export function toOutputSource(processType: string): `APP/PROC/${string}` {
  return `APP/PROC/${processType.toUpperCase()}`;
}
