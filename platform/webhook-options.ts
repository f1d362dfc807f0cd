// The address of the operation `webhook`, and the names of its objects.
import type { CertificateLifetimes } from "../kube/admission/webhook-certificates.ts";

/** The Secret with its certificates. */
export const WEBHOOK_SECRET = "cupola-webhook";
/** The ValidatingWebhookConfiguration. */
export const WEBHOOK_CONFIGURATION = "cupola";
/** The webhook in it that refuses taken names. */
export const NAME_WEBHOOK = "names.cupola.dev";

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
