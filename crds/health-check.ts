// Health and readiness checks of instances, and the times of one that names none: Diego's.
import { z } from "zod";

const START_SECONDS = 60;
const INVOCATION_SECONDS = 1;
const INTERVAL_SECONDS = 30;

export const healthCheck = z.object({
  type: z
    .enum(["port", "http", "process"])
    .describe("port: accepts a connection. http: responds with 200. process: is running."),
  endpoint: z.string().max(2048).optional().describe("Path for http. Defaults to /."),
  timeoutSeconds: z
    .int()
    .min(1)
    .max(3600)
    .optional()
    .describe(`Seconds that a start may take until the check first succeeds. Defaults to ${START_SECONDS}.`),
  invocationTimeoutSeconds: z
    .int()
    .min(1)
    .max(3600)
    .optional()
    .describe(`Seconds that one check may take. Defaults to ${INVOCATION_SECONDS}.`),
  intervalSeconds: z
    .int()
    .min(1)
    .max(3600)
    .optional()
    .describe(`Seconds between two checks of a running instance. Defaults to ${INTERVAL_SECONDS}.`),
});
export type HealthCheck = z.output<typeof healthCheck>;

export const readinessCheck = healthCheck.omit({ timeoutSeconds: true });
export type ReadinessCheck = z.output<typeof readinessCheck>;

/** Seconds that a start may take until the check first succeeds. */
export function startSeconds({ timeoutSeconds }: Pick<HealthCheck, "timeoutSeconds">): number {
  return timeoutSeconds ?? START_SECONDS;
}

/** Seconds that one check may take. */
export function invocationSeconds({ invocationTimeoutSeconds }: Pick<HealthCheck, "invocationTimeoutSeconds">): number {
  return invocationTimeoutSeconds ?? INVOCATION_SECONDS;
}

/** Seconds between two checks of a running instance. */
export function intervalSeconds(check: Pick<HealthCheck, "intervalSeconds">): number {
  return check.intervalSeconds ?? INTERVAL_SECONDS;
}
