// Shared part of the rows on webhooks: one configuration that is in force while a row runs.
import type { Api, Json } from "./api.ts";
import { expect } from "vitest";
import { group, widget, widgets, type Scene } from "./row.ts";
import { startWebhookServer, type Respond, type WebhookServer } from "./webhook-server.ts";

export const admission = "/apis/admissionregistration.k8s.io/v1";
type Kind = "Validating" | "Mutating";
export const plural = (kind: Kind) => `${admission}/${kind.toLowerCase()}webhookconfigurations`;
export const configuration = (kind: Kind, name: string, webhooks: Json[]) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: `${kind}WebhookConfiguration`,
  metadata: { name },
  webhooks,
});
export const rule = (more: Json = {}) => ({
  apiGroups: [group],
  apiVersions: ["v1"],
  operations: ["CREATE", "UPDATE"],
  resources: ["widgets"],
  ...more,
});
export const webhook = (ns: string, clientConfig: Json, more: Json = {}) => ({
  name: "judge.conformance.example",
  clientConfig,
  rules: [rule()],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  timeoutSeconds: 5,
  namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": ns } },
  ...more,
});

interface Installed {
  name: string;
  server: WebhookServer;
}

interface Wanted {
  kind?: Kind;
  /** Fields of the webhook. */
  hook?: Json;
  /** Instead of the server's own. */
  clientConfig?: Json;
  /** Holds once the configuration is in force. */
  inForce?: (api: Api) => Promise<void>;
  name?: string;
}

export const trial = async (api: Api, ns: string, spec: Json = {}, metadata: Json = {}) =>
  await api.post(`${widgets(ns)}?dryRun=All`, widget("trial", spec, metadata));

/** Runs `body` while a webhook of this row's namespace is in force. */
export async function withHook(
  scene: Scene,
  respond: Respond,
  wanted: Wanted,
  body: (installed: Installed) => Promise<void>,
): Promise<void> {
  const { api, ns, unique, eventually } = scene;
  const { kind = "Validating", hook, clientConfig, inForce, name = unique("hook") } = wanted;
  const server = await startWebhookServer(respond);
  try {
    const made = await api.post(
      plural(kind),
      configuration(kind, name, [webhook(ns, clientConfig ?? server.clientConfig, hook)]),
    );
    expect(made.status, made.text).toBe(201);
    await eventually(async () => {
      if (inForce) return await inForce(api);
      await trial(api, ns);
      expect(server.requests.length).toBeGreaterThan(0);
    });
    server.requests.length = 0;
    await body({ name, server });
  } finally {
    await api.delete(`${plural(kind)}/${name}`);
    await server.stop();
  }
}

export const allow: Respond = () => ({ allowed: true });
export const faults = async (api: Api, ns: string) => expect((await trial(api, ns)).status).toBe(500);
