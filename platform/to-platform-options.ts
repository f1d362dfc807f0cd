// Platform options from the options of `cupola`: files are read and every value is checked.
import { omitUndefined } from "../kube/api/omit-undefined.ts";
import type { ClusterAccess } from "../kube/client/create-client.ts";
import { asksForTraces } from "../kube/tracing/asks-for-traces.ts";
import { loadInCluster, loadKubeconfig } from "../kube/client/kubeconfig.ts";
import { readTls, type CupolaOptions } from "./cupola-options.ts";
import type { PlatformOptions } from "./platform-options.ts";
import { toLoginSettings } from "./login-options.ts";
import { toHubSettings } from "./hub-options.ts";
import { toSSHSettings } from "./ssh-options.ts";
import { toRegistrySettings } from "./registry-options.ts";
import { toTokenIssuerSettings } from "./token-issuer-options.ts";

const DRAIN_MS = 20_000;

/** @throws Error whose message, one sentence, names the wrong option */
export async function toPlatformOptions(
  options: CupolaOptions,
  inPod: boolean,
): Promise<Omit<PlatformOptions, "log" | "signal">> {
  return {
    access: await loadAccess(options, inPod),
    operations: options.operation,
    data: options.data,
    scratchBytes: options.scratchMb * 2 ** 20,
    listen: { host: options.host, port: options.port, ...omitUndefined({ tls: readTls(options) }) },
    authorization: options.authorization,
    login: toLoginSettings(options),
    ...omitUndefined({
      tokenIssuer: toTokenIssuerSettings(options),
      registry: toRegistrySettings(options),
      ssh: toSSHSettings(options),
      hub: toHubSettings(options),
      internalDNS: options.internalDnsListen,
    }),
    peerAddress: options.peerAddress,
    leaseSeconds: options.leaseSeconds,
    ...(options.webhookAddress && { webhook: options.webhookAddress }),
    ...(options.metricsAddress && { metrics: options.metricsAddress }),
    ...(options.routeServiceListen && { routeServices: { listen: options.routeServiceListen } }),
    ...(asksForTraces(process.env) && { traces: process.env }),
    shutdown: { graceMs: options.grace * 1000, drainMs: DRAIN_MS },
    ...(options.publicUrl && { publicURL: options.publicUrl }),
  };
}

/** Ignores KUBECONFIG: a platform joins only a cluster that its options name. @throws Error */
function loadAccess({ kubeconfig, context }: CupolaOptions, inPod: boolean): Promise<ClusterAccess> {
  if (kubeconfig) return loadKubeconfig({ path: kubeconfig, ...omitUndefined({ context }) });
  if (inPod) return loadInCluster();
  throw new Error(
    "no cluster is named: give --kubeconfig FILE, or run this in a pod. On a laptop, `npm start` needs no cluster",
  );
}
