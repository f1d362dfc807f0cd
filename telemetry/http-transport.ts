// Requests to telemetry endpoints over HTTP, with the token of each.
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { fetch } from "undici";
import { agentFor, type TelemetryEndpoint } from "./endpoint-agent.ts";

/** How a client reaches its endpoints. Both calls reject when an endpoint answers with an error, or not at all. */
export interface TelemetryTransport {
  getJson(endpoint: TelemetryEndpoint, path: string, timeoutMs: number): Promise<unknown>;
  /** The lines of an answer that does not end by itself. */
  openLines(endpoint: TelemetryEndpoint, path: string, signal: AbortSignal): Promise<AsyncIterable<string>>;
}

export const httpTransport: TelemetryTransport = {
  async getJson(endpoint, path, timeoutMs) {
    const response = await fetch(`${endpoint.url}${path}`, {
      headers: { authorization: `Bearer ${endpoint.token}` },
      signal: AbortSignal.timeout(timeoutMs),
      redirect: "error",
      ...agentFor(endpoint, "call"),
    });
    if (!response.ok) {
      // A body that nobody reads would keep its connection.
      await response.body?.cancel();
      throw new Error(`telemetry endpoint ${endpoint.url} answered ${response.status}`);
    }
    return response.json();
  },
  async openLines(endpoint, path, signal) {
    const response = await fetch(`${endpoint.url}${path}`, {
      headers: { authorization: `Bearer ${endpoint.token}` },
      signal,
      redirect: "error",
      ...agentFor(endpoint, "stream"),
    });
    if (!response.ok || !response.body) throw new Error(`telemetry endpoint answered ${response.status}`);
    return createInterface({ input: Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]) });
  },
};
