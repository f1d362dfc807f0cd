// Names, defaults and sizes of processes. Pure.
import type { CelRule } from "../../kube/api/resource.ts";
import type { HealthCheck, ReadinessCheck } from "../health-check.ts";
import { digest5, slug } from "../object-names.ts";

const SHORT_TYPE = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** `<app>.<type>` where the type is a DNS label of at most 20 characters, else `<app>.<slug>-<5 digest>`. */
export const PROCESS_NAME_RULE: CelRule = {
  rule: "self.spec.type.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && self.spec.type.size() <= 20 ? self.metadata.name == self.spec.appRef.name + '.' + self.spec.type : self.metadata.name.startsWith(self.spec.appRef.name + '.')",
  message: "a Process is named <app>.<type>",
};

/** The object name of a process of an app. */
export function processName(app: string, type: string): string {
  if (type.length <= 20 && SHORT_TYPE.test(type)) return `${app}.${type}`;
  return `${app}.${slug(type).slice(0, 14)}-${digest5(type)}`;
}

/** The number of instances when the spec gives none. */
export function defaultInstances(type: string): number {
  return type === "web" ? 1 : 0;
}

/** The given health check, or the default of the process type. */
export function effectiveHealthCheck(type: string, given: HealthCheck | undefined): HealthCheck {
  return given ?? { type: type === "web" ? "port" : "process" };
}

/** The given readiness check, or the default. */
export function effectiveReadinessCheck(given: ReadinessCheck | undefined): ReadinessCheck {
  return given ?? { type: "process" };
}

/** A process type as a label value: the type itself where it is valid, else the last part of the object name. Routers and log readers select by it. */
export function processTypeLabel(type: string): string {
  return type.length <= 63 && /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(type)
    ? type
    : `${slug(type).slice(0, 14)}-${digest5(type)}`;
}

/** For each instance and task, when the spec gives none. */
export const DEFAULT_MEMORY_MB = 1024;
export const DEFAULT_DISK_MB = 1024;

/** Seconds that a task may be given at most: a year. */
export const MAX_TASK_SECONDS = 31_536_000;

/** Bytes of log per second and instance, of processes and tasks, when the spec gives none. CF's default. */
export const DEFAULT_LOG_RATE = 1_048_576;

/** The port of an instance when neither process nor droplet gives one. */
export const DEFAULT_PORT = 8080;

/** The process's ports, else the droplet's, else the default port. */
export function effectivePorts(
  given: readonly number[] | undefined,
  droplet: readonly number[] | undefined,
): [number, ...number[]] {
  const [first = DEFAULT_PORT, ...more] = (given?.length ? given : droplet) ?? [];
  return [first, ...more];
}
