// The port of the metrics, apart from the API's, which is public: TLS, and callers that the cluster's RBAC allows.
import type { AddressInfo } from "node:net";
import type { Logger } from "pino";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Metrics } from "../../kube/metrics/metrics.ts";
import { createScrapeHandler } from "../../kube/metrics/scrape-handler.ts";
import { createListener } from "../../kube/server/listener.ts";
import { isLoopback } from "../../kube/server/loopback.ts";
import { issueCertificate, makeAuthority } from "../../kube/server/pki.ts";
import { startListening } from "../../kube/server/start-listening.ts";
import type { TLSKeyPair } from "../http/http-server.ts";

/** A scraper needs one connection; reviews of strangers' tokens are few at a time. */
const MAX_CONNECTIONS = 20;
const CONNECTION_SHARE = 0.02;

export interface MetricsServerOptions {
  host: string;
  port: number;
  /** Default off loopback: a certificate that nobody signed, made for this life of the process. */
  tls?: TLSKeyPair | undefined;
  client: KubeClient;
  metrics: Metrics;
  log: Logger;
}

/** @throws Error when the port is taken */
export async function startMetricsServer(
  options: MetricsServerOptions,
): Promise<{ url: string; close(): Promise<void> }> {
  const { host, port, log } = options;
  const tls = isLoopback(host) ? options.tls : (options.tls ?? (await issueOwnCertificate()));
  const server = createListener(
    { ...(tls && { tls }), share: CONNECTION_SHARE, maxConnections: MAX_CONNECTIONS },
    createScrapeHandler(options),
  );
  await startListening(server, { host, port }, (err) => log.warn({ err }, "could not accept a scrape"));
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `${tls ? "https" : "http"}://${isLoopback(host) ? "localhost" : host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function issueOwnCertificate(): Promise<TLSKeyPair> {
  const authority = await makeAuthority("authority of the metrics of a cupola process");
  return issueCertificate(authority, { commonName: "cupola-metrics" }, { usage: "server" });
}
