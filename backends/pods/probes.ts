// Renders Cloud Foundry's health checks as kubelet probes. Pure.
import { intervalSeconds, invocationSeconds, startSeconds } from "../../crds/health-check.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import type { PodRules } from "./pod-rules.ts";

/** Where a check may wait longer than a second for its answer. */
const SLOW_START_PERIOD_SECONDS = 2;

type Check = Pick<LRP["spec"]["healthCheck"], "type" | "endpoint" | "invocationTimeoutSeconds" | "intervalSeconds">;

export interface Probe {
  httpGet?: { path: string; port: number };
  tcpSocket?: { port: number };
  periodSeconds: number;
  timeoutSeconds: number;
  failureThreshold: number;
}

/** The probes of a container. One failed liveness probe ends it, as in Diego; a check of type `process` needs no probe. */
export function planProbes(
  spec: LRP["spec"],
  { startPeriodSeconds }: Pick<PodRules, "startPeriodSeconds">,
): { startupProbe?: Probe; livenessProbe?: Probe; readinessProbe?: Probe } {
  const { healthCheck, readinessHealthCheck, ports } = spec;
  const port = ports[0];
  const live = port === undefined ? undefined : handlerOf(healthCheck, port);
  const ready = port === undefined ? undefined : handlerOf(readinessHealthCheck, port);
  const timeout = startSeconds(healthCheck);
  // Checks that get no answer come one after the other, so that more of them would take longer than the app may.
  const period = invocationSeconds(healthCheck) > 1 ? SLOW_START_PERIOD_SECONDS : startPeriodSeconds;
  return {
    ...(live && {
      startupProbe: {
        ...live,
        periodSeconds: period,
        timeoutSeconds: invocationSeconds(healthCheck),
        failureThreshold: Math.ceil(timeout / period),
      },
    }),
    ...(live && { livenessProbe: steady(live, healthCheck) }),
    ...(ready && { readinessProbe: steady(ready, readinessHealthCheck) }),
  };
}

function steady(handler: Pick<Probe, "httpGet" | "tcpSocket">, check: Check): Probe {
  return {
    ...handler,
    periodSeconds: intervalSeconds(check),
    timeoutSeconds: invocationSeconds(check),
    failureThreshold: 1,
  };
}

function handlerOf(check: Check, port: number): Pick<Probe, "httpGet" | "tcpSocket"> | undefined {
  if (check.type === "process") return undefined;
  return check.type === "http" ? { httpGet: { path: check.endpoint ?? "/", port } } : { tcpSocket: { port } };
}
