// Connections to telemetry endpoints, pooled by the certificate authority that each one trusts.
import { Agent } from "undici";

/** Where a class or replica serves its telemetry (`BackendClass.status.endpoint`) and the token it requires. */
export interface TelemetryEndpoint {
  url: string;
  token: string;
  /** Certificate authority of the endpoint, PEM; absent for a public one. */
  authority?: string;
}

/** Agents by certificate authority. Each start of a replica creates an authority, so the oldest agent is closed beyond the limit. */
const agents = new Map<string, Agent>();
const MAX_AGENTS = 100;

/** The fetch options that reach this endpoint. */
export function agentFor({ authority }: TelemetryEndpoint): { dispatcher?: Agent } {
  if (authority === undefined) return {};
  const agent = agents.get(authority) ?? new Agent({ connect: { ca: authority, timeout: 5000 } });
  agents.delete(authority);
  agents.set(authority, agent);
  for (const [oldest, agentToClose] of agents) {
    if (agents.size <= MAX_AGENTS) break;
    agents.delete(oldest);
    void agentToClose.close();
  }
  return { dispatcher: agent };
}
