// The metrics of the platform's processes, through the API server, with a token that may get the path /metrics and nothing else: there, and at kube-apiserver itself.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { Pod } from "../../kube/api/builtin.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { METRICS_AUTHORIZATION, METRICS_PATH } from "../../kube/metrics/scrape-handler.ts";
import { METRICS } from "../../platform/metrics/definitions.ts";
import { readText } from "./read-text.ts";
import { scrubText } from "./scrub-text.ts";

/** As the chart names port and account. */
const PORT_NAME = "metrics";
const ACCOUNT = "cupola-metrics";
/** The shortest that Kubernetes gives. */
const TOKEN_SECONDS = 600;
/** Bytes. */
const MAX_TEXT = 4 * 2 ** 20;
const DEADLINE_MS = 15_000;

/** None where the chart serves no metrics. */
export function metricsPortOf(spec: ObjectOf<typeof Pod>["spec"]): number[] {
  const ports = (spec?.containers ?? []).flatMap(({ ports: own = [] }) => own);
  return ports.filter(({ name }) => name === PORT_NAME).map(({ containerPort }) => containerPort);
}

/** A single token serves all pods. The text that the function returns has the metrics of Cupola and of Node alone. */
export function newScraper(kube: KubeClient, signal: AbortSignal): (pod: string, port: number) => Promise<string> {
  const call = { signal, deadlineMs: DEADLINE_MS };
  let token: Promise<string> | undefined;
  return async (pod, port) => {
    token ??= requestToken(kube, call);
    const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/pods/https:${pod}:${port}/proxy${METRICS_PATH}`;
    const headers = { [METRICS_AUTHORIZATION]: `Bearer ${await token}` };
    return keepMetrics(await readText(kube, { path, headers, maxBytes: MAX_TEXT, ...call }));
  };
}

async function requestToken(kube: KubeClient, call: { signal: AbortSignal; deadlineMs: number }): Promise<string> {
  const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/${ACCOUNT}/token`;
  const request = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: TOKEN_SECONDS },
  };
  const { status } = (await kube.raw("POST", path, request, call)) as { status?: { token?: string } };
  return status?.token ?? "";
}

const KNOWN: ReadonlySet<string> = new Set(METRICS.map(({ name }) => name));

/** Pure. Lines of other series are left out; labels are scrubbed as other text. */
export function keepMetrics(text: string): string {
  const kept = text.split("\n").filter((line) => {
    const [name = ""] = /^[A-Za-z_:][\w:]*/.exec(line) ?? [];
    return (
      /^(?:process|nodejs)_/.test(name) || KNOWN.has(name) || KNOWN.has(name.replace(/_(?:bucket|sum|count)$/, ""))
    );
  });
  return `${kept.map(scrubText).join("\n")}\n`;
}
