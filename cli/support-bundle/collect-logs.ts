// The logs of the platform's own pods, those of their containers before the last restart, and what the processes say of themselves. Apps' logs belong to tenants and are left out.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Pod } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/errors.ts";
import type { Source } from "./bundle-file.ts";
import { metricsPortOf, newScraper } from "./collect-metrics.ts";
import { readText } from "./read-text.ts";
import { scrubLine } from "./scrub-log.ts";

/** Most bytes of a container's log. */
const MAX_LOG_BYTES = 4 * 2 ** 20;
const MAX_READINESS_BYTES = 65_536;
const MAX_PODS = 100;
const DEADLINE_MS = 30_000;

/** @returns one source for each container; none where pods cannot be listed, which their own list tells */
export async function collectLogs(
  kube: KubeClient,
  { sinceSeconds, signal }: { sinceSeconds: number; signal: AbortSignal },
): Promise<Source[]> {
  const pods = await kube
    .list(Pod, {
      namespace: SYSTEM_NAMESPACE,
      labelSelector: "app.kubernetes.io/name=cupola",
      signal,
      deadlineMs: DEADLINE_MS,
    })
    .catch(() => undefined);
  const scrape = newScraper(kube, signal);
  return (pods?.items ?? []).slice(0, MAX_PODS).flatMap(({ metadata: { name }, spec, status }) => [
    ...(spec?.containers ?? []).flatMap((container) => {
      const restarts = status?.containerStatuses?.find((one) => one.name === container.name)?.restartCount ?? 0;
      return (restarts > 0 ? ["", "previous"] : [""]).map((which): Source => ({
        path: `logs/${name}/${container.name}${which === "" ? "" : `.${which}`}.log`,
        read: () =>
          readLog(kube, { pod: name, container: container.name, previous: which !== "", sinceSeconds, signal }),
      }));
    }),
    { path: `readyz/${name}.txt`, read: () => readReadiness(kube, name, signal) },
    ...metricsPortOf(spec).map((port): Source => ({ path: `metrics/${name}.txt`, read: () => scrape(name, port) })),
  ]);
}

interface LogRequest {
  pod: string;
  container: string;
  previous: boolean;
  sinceSeconds: number;
  signal: AbortSignal;
}

async function readLog(
  kube: KubeClient,
  { pod, container, previous, sinceSeconds, signal }: LogRequest,
): Promise<string> {
  const query = new URLSearchParams({
    container,
    previous: String(previous),
    sinceSeconds: String(sinceSeconds),
    limitBytes: String(MAX_LOG_BYTES),
  });
  const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/pods/${pod}/log?${query.toString()}`;
  const text = await readText(kube, { path, signal, deadlineMs: DEADLINE_MS, maxBytes: MAX_LOG_BYTES });
  return text.split("\n").map(scrubLine).join("\n");
}

/** A process that is not ready answers 503 with its reasons. */
async function readReadiness(kube: KubeClient, pod: string, signal: AbortSignal): Promise<string> {
  const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/pods/https:${pod}:8443/proxy/readyz`;
  try {
    const text = await readText(kube, { path, signal, deadlineMs: DEADLINE_MS, maxBytes: MAX_READINESS_BYTES });
    return text.split("\n").map(scrubLine).join("\n");
  } catch (error) {
    if (!(error instanceof KubeError) || error.code === 404) throw error;
    return `${error.message}\n`;
  }
}
