// Renders and compares a ValidatingWebhookConfiguration. Pure.
import { isDeepStrictEqual } from "node:util";
import type { LabelSelector } from "../api/label-selector.ts";
import type { ObjectMeta } from "../api/object.ts";

/** The webhook's address: a URL, or a Service (port 443). */
export type WebhookAddress =
  { url: string } | { service: { namespace: string; name: string; path: string; port: number } };

/** The requests that are sent to the webhook. */
export interface WebhookScope {
  rules: readonly {
    apiGroups: string[];
    apiVersions: string[];
    operations: ("CREATE" | "UPDATE")[];
    resources: string[];
    scope: "Namespaced" | "Cluster" | "*";
  }[];
  /** Only objects in namespaces with these labels. */
  namespaceSelector?: LabelSelector;
  matchConditions?: readonly { name: string; expression: string }[];
  /** 1 to 3: a webhook that only improves error messages must not delay writes. */
  timeoutSeconds: 1 | 2 | 3;
}

/** A webhook of the configuration. */
export interface RegisteredWebhook {
  name: string;
  scope: WebhookScope;
  address: WebhookAddress;
}

export interface ConfigurationDraft {
  metadata: Pick<ObjectMeta, "name" | "ownerReferences">;
  webhooks: { name: string; [field: string]: unknown }[];
  [field: string]: unknown;
}

/** The fields that are read from a live configuration. */
export interface LiveConfiguration {
  webhooks?: readonly object[] | undefined;
}

/** @param bundle PEM of every trusted authority. */
export function toConfiguration(
  name: string,
  webhooks: readonly RegisteredWebhook[],
  bundle: string,
): ConfigurationDraft {
  return { metadata: { name }, webhooks: webhooks.map((webhook) => toWebhook(webhook, bundle)) };
}

function toWebhook(
  { name, scope, address }: RegisteredWebhook,
  bundle: string,
): ConfigurationDraft["webhooks"][number] {
  return {
    name,
    clientConfig: { ...address, caBundle: Buffer.from(bundle).toString("base64") },
    rules: scope.rules,
    ...(scope.namespaceSelector && { namespaceSelector: scope.namespaceSelector }),
    ...(scope.matchConditions && { matchConditions: scope.matchConditions }),
    // A write without a response is allowed: docs/adr/0008.
    failurePolicy: "Ignore",
    matchPolicy: "Equivalent",
    sideEffects: "None",
    timeoutSeconds: scope.timeoutSeconds,
    admissionReviewVersions: ["v1"],
  };
}

/** Whether every desired field is live; fields added by the server are ignored. */
export function isApplied(wanted: ConfigurationDraft, seen: LiveConfiguration | undefined): boolean {
  return wanted.webhooks.every((webhook) => {
    const live = webhookIn(seen, webhook.name);
    return (
      live !== undefined && Object.entries(webhook).every(([field, value]) => isDeepStrictEqual(value, live[field]))
    );
  });
}

/** The live caBundle of the webhook, PEM. */
export function caBundleIn(seen: LiveConfiguration | undefined, webhook: string): string {
  const caBundle = clientConfigOf(seen, webhook)?.caBundle;
  return caBundle ? Buffer.from(caBundle, "base64").toString("utf8") : "";
}

/** The live address; undefined without one. */
export function addressIn(seen: LiveConfiguration | undefined, webhook: string): WebhookAddress | undefined {
  const { url, service } = clientConfigOf(seen, webhook) ?? {};
  if (url) return { url };
  return service ? { service } : undefined;
}

interface ClientConfig {
  caBundle?: string;
  url?: string;
  service?: Extract<WebhookAddress, { service: unknown }>["service"];
}

function clientConfigOf(seen: LiveConfiguration | undefined, webhook: string): ClientConfig | undefined {
  return webhookIn(seen, webhook)?.["clientConfig"] as ClientConfig | undefined;
}

function webhookIn(seen: LiveConfiguration | undefined, name: string): Record<string, unknown> | undefined {
  return (seen?.webhooks as Record<string, unknown>[] | undefined)?.find((one) => one["name"] === name);
}
