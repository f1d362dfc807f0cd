// The address of the operation `webhook`.
import type { CertificateLifetimes } from "../kube/admission/webhook-certificates.ts";

/**
 * Where it listens. API servers reach it at that very address, or, with `service`, through the Service `cupola-webhook`
 * in `cupola-system`, whose port 443 leads there.
 */
export interface WebhookListenOptions {
  host: string;
  /** 0 for any; not with `service`. */
  port: number;
  service?: boolean;
  /** Shorter lifetimes for tests that cannot wait for months. */
  lifetimes?: CertificateLifetimes;
}
