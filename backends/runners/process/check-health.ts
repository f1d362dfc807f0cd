// One health check against an instance: port, http or process. A failure is a sentence, as Diego's health check writes it.
import { request } from "node:http";
import { connect } from "node:net";
import type { HealthCheck } from "../../../crds/schema-fields.ts";

/** What is checked. `ports` are host ports; http uses the first, port all of them. */
export interface HealthTarget {
  host: string;
  ports: readonly number[];
}

type Check = Pick<HealthCheck, "type" | "endpoint" | "invocationTimeoutSeconds">;

/** Runs the check once. Gives undefined when healthy, else why not. Never throws. `process` is healthy as long as somebody asks. */
export async function checkHealth(check: Check, target: HealthTarget): Promise<string | undefined> {
  const timeoutMs = (check.invocationTimeoutSeconds ?? 1) * 1000;
  const [first] = target.ports;
  if (check.type === "process" || first === undefined) return undefined;
  if (check.type === "http") return checkHttp(target.host, first, check.endpoint ?? "/", timeoutMs);
  const failures = await Promise.all(target.ports.map((port) => checkPort(target.host, port, timeoutMs)));
  return failures.find((failure) => failure !== undefined);
}

function checkPort(host: string, port: number, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const finish = (failure?: string): void => {
      socket.destroy();
      resolve(failure && `Failed to make TCP connection to port ${port}: ${failure}`);
    };
    socket.once("connect", () => finish());
    socket.once("timeout", () => finish(`timed out after ${timeoutMs / 1000} seconds`));
    socket.once("error", (error) => finish(reasonOf(error)));
  });
}

function checkHttp(host: string, port: number, path: string, timeoutMs: number): Promise<string | undefined> {
  const where = `Failed to make HTTP request to '${path}' on port ${port}`;
  return new Promise((resolve) => {
    const probe = request(
      { host, port, path, agent: false, headers: { "user-agent": "cupola-healthcheck" } },
      (response) => {
        clearTimeout(timer);
        response.destroy();
        resolve(response.statusCode === 200 ? undefined : `${where}: received status code ${response.statusCode}`);
      },
    );
    const timer = setTimeout(() => probe.destroy(new Error(`timed out after ${timeoutMs / 1000} seconds`)), timeoutMs);
    probe.once("error", (error) => {
      clearTimeout(timer);
      resolve(`${where}: ${reasonOf(error)}`);
    });
    probe.end();
  });
}

function reasonOf(error: NodeJS.ErrnoException): string {
  if (error.code === "ECONNREFUSED") return "connection refused";
  if (error.code === "ECONNRESET") return "connection reset";
  return error.message;
}
