// Connections to telemetry endpoints, pooled by their use and the certificate authority that each one trusts.
import { Agent } from "undici";

/** Where a class or replica serves its telemetry (`BackendClass.status.endpoint`) and the token it requires. */
export interface TelemetryEndpoint {
  url: string;
  token: string;
  /** Certificate authority of the endpoint, PEM; absent for a public one. */
  authority?: string;
}

/** Connections to one endpoint for its reads and pushes; more of them wait. A stream has one of its own, however long it lasts. */
const MAX_CONNECTIONS = 32;

/** Agents by use and certificate authority. Each start of a replica creates an authority, so the oldest agent is closed beyond the limit. */
const agents = new Map<string, Agent>();
const MAX_AGENTS = 100;

/** The fetch options that reach this endpoint. */
export function agentFor({ authority }: TelemetryEndpoint, use: "call" | "stream"): { dispatcher: Agent } {
  const key = `${use} ${authority ?? ""}`;
  const agent =
    agents.get(key) ??
    new Agent({
      connect: { ...(authority !== undefined && { ca: authority }), timeout: 5000 },
      connections: use === "call" ? MAX_CONNECTIONS : null,
    });
  agents.delete(key);
  agents.set(key, agent);
  for (const [oldest, agentToClose] of agents) {
    if (agents.size <= MAX_AGENTS) break;
    agents.delete(oldest);
    void agentToClose.close();
  }
  return { dispatcher: agent };
}
