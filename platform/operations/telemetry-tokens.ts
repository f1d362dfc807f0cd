// The tokens for the logs and stats of clusters, in memory.
import type { TelemetryEndpoint } from "../../telemetry/endpoint-agent.ts";

export class TelemetryTokens {
  readonly #tokens = new Map<string, string>();
  readonly #listeners = new Set<() => void>();

  /** Without a token the cluster's logs cannot be read. */
  set(cluster: string, token: string | undefined): void {
    if (this.#tokens.get(cluster) === token) return;
    if (token === undefined) this.#tokens.delete(cluster);
    else this.#tokens.set(cluster, token);
    for (const listener of this.#listeners) listener();
  }

  has(cluster: string): boolean {
    return this.#tokens.has(cluster);
  }

  list(): TelemetryEndpoint[] {
    return [...this.#tokens].map(([url, token]) => ({ url, token }));
  }

  /** Called after each change of a token. Returns the unsubscribe function. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
