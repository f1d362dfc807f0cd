// Serves the metrics of this process, where its options say so.
import type { PlatformContext } from "../platform-context.ts";
import { startMetricsServer } from "./metrics-server.ts";
import { followWatches } from "./watch-metrics.ts";
import { followApps } from "./app-metrics.ts";
import { followOutsideRequests } from "./request-metrics.ts";
import { COUNTING_LEASE, followPlatform, type ObservedPlatform } from "./platform-metrics.ts";

/** @throws Error when the port is taken */
export async function startMetrics(
  { metrics: own, options, client, informers, log, disposables }: PlatformContext,
  observed: Pick<ObservedPlatform, "health" | "elections">,
): Promise<void> {
  if (!own || !options.metrics) return;
  const { metrics } = own;
  followWatches(metrics, informers);
  const { tls } = options.listen;
  const counting = observed.elections.find(({ name }) => name === COUNTING_LEASE);
  if (counting) disposables.defer(followApps(metrics, { informers, counts: () => counting.isLeading() }));
  disposables.defer(followOutsideRequests(metrics));
  followPlatform(metrics, { ...observed, informers, certificate: tls?.cert });
  const server = await startMetricsServer({ ...options.metrics, tls, client, metrics, log });
  disposables.defer(() => server.close());
  log.info({ url: `${server.url}/metrics` }, "metrics are served");
}
