// When a build has taken too long, and when its failure may be reported. Pure.
import type { Staging } from "../../crds/staging/staging.ts";
import { readerLagMs } from "../../telemetry/envelope.ts";
import { StagingFailure } from "./staging-failure.ts";

/** The kubelet or kpack ends a build in time. After this margin the builder does: no node has the build, a lost one has, or kpack did not take it up. */
export const DEADLINE_MARGIN_MS = 20_000;
/** Clients stop reading the log once they see the failure. */
const LOG_LAG_MS = readerLagMs + 500;

/** Milliseconds since the epoch. */
export function deadlineOf({ spec }: Staging, startedAt: string): number {
  return Date.parse(startedAt) + spec.timeoutSeconds * 1000;
}

export function timeExpired({ spec }: Staging): StagingFailure {
  return new StagingFailure("StagingTimeExpired", `the build took longer than ${spec.timeoutSeconds} seconds`);
}

/** Milliseconds until the last lines of a build that failed at `at` can be read; not positive when they can be, or when there are none. */
export function untilLogIsRead(at: string | undefined, now: Date): number {
  return at === undefined ? 0 : Date.parse(at) + LOG_LAG_MS - now.getTime();
}
