// A health check of an instance: port, http or process. A failure is a sentence in the words of Diego's health check.
import { request } from "node:http";
import { connect } from "node:net";
import { invocationSeconds, type HealthCheck } from "../../../crds/health-check.ts";
import { isOutOfResources } from "../../host/out-of-resources.ts";

/** The checked target. `ports` are host ports; http uses the first, port all of them. */
export interface HealthTarget {
  host: string;
  ports: readonly number[];
}

type Check = Pick<HealthCheck, "type" | "endpoint" | "invocationTimeoutSeconds">;

/** `unknown`: the check could not be made, so it counts neither way. */
export type ProbeResult = { outcome: "healthy" } | { outcome: "failed" | "unknown"; why: string };

const healthy: ProbeResult = { outcome: "healthy" };

/** Runs the check once. Never throws. A `process` check always passes: the runner sees the exit of the process. */
export async function checkHealth(check: Check, target: HealthTarget): Promise<ProbeResult> {
  const timeoutMs = invocationSeconds(check) * 1000;
  const [first] = target.ports;
  if (check.type === "process" || first === undefined) return healthy;
  if (check.type === "http") return checkHttp(target.host, first, check.endpoint ?? "/", timeoutMs);
  const results = await Promise.all(target.ports.map((port) => checkPort(target.host, port, timeoutMs)));
  return (
    results.find(({ outcome }) => outcome === "failed") ??
    results.find(({ outcome }) => outcome === "unknown") ??
    healthy
  );
}

function checkPort(host: string, port: number, timeoutMs: number): Promise<ProbeResult> {
  const where = `Failed to make TCP connection to port ${port}`;
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const finish = (result: ProbeResult): void => {
      socket.destroy();
      resolve(result);
    };
    socket.once("connect", () => finish(healthy));
    socket.once("timeout", () =>
      finish({ outcome: "failed", why: `${where}: timed out after ${timeoutMs / 1000} seconds` }),
    );
    socket.once("error", (error) => finish(toResult(where, error)));
  });
}

function checkHttp(host: string, port: number, path: string, timeoutMs: number): Promise<ProbeResult> {
  const where = `Failed to make HTTP request to '${path}' on port ${port}`;
  return new Promise((resolve) => {
    const probe = request(
      { host, port, path, agent: false, headers: { "user-agent": "cupola-healthcheck" } },
      (response) => {
        clearTimeout(timer);
        response.destroy();
        const { statusCode } = response;
        resolve(
          statusCode === 200 ? healthy : { outcome: "failed", why: `${where}: received status code ${statusCode}` },
        );
      },
    );
    const timer = setTimeout(() => probe.destroy(new Error(`timed out after ${timeoutMs / 1000} seconds`)), timeoutMs);
    probe.once("error", (error) => {
      clearTimeout(timer);
      resolve(toResult(where, error));
    });
    probe.end();
  });
}

function toResult(where: string, error: NodeJS.ErrnoException): ProbeResult {
  return { outcome: isOutOfResources(error) ? "unknown" : "failed", why: `${where}: ${reasonOf(error)}` };
}

function reasonOf(error: NodeJS.ErrnoException): string {
  if (error.code === "ECONNREFUSED") return "connection refused";
  if (error.code === "ECONNRESET") return "connection reset";
  return error.message;
}
