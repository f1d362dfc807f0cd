// Load balancing `hash`: requests with the same header value go to the same instance, whatever other instances come and go. Pure.
import { hash } from "node:crypto";
import type { Endpoint } from "./routing-table.ts";

/**
 * The endpoint for a value, by rendezvous hashing: the one with the highest score. Instances are scored by app, process type and index, so that a restarted
 * instance keeps its values. With a `balance` above 0 an endpoint is passed over while it has more than `balance` times the average of requests under way;
 * the next best takes the request. Undefined without endpoints.
 */
export function chooseByHash(
  endpoints: readonly Endpoint[],
  value: string,
  { balance, load }: { balance: number; load: (endpoint: Endpoint) => number },
): Endpoint | undefined {
  const average = endpoints.reduce((sum, endpoint) => sum + load(endpoint), 0) / endpoints.length;
  const isOverloaded = (endpoint: Endpoint): boolean => balance > 0 && load(endpoint) > balance * average;
  let best: { endpoint: Endpoint; score: string } | undefined;
  for (const endpoint of endpoints.filter((each) => !isOverloaded(each))) {
    const score = scoreOf(endpoint, value);
    if (!best || score > best.score) best = { endpoint, score };
  }
  return best?.endpoint;
}

function scoreOf({ appGUID, processType, index, port }: Endpoint, value: string): string {
  return hash("sha256", JSON.stringify([appGUID, processType, index, port, value]));
}
