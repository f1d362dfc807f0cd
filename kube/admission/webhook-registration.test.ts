// Health of a webhook registration: pending until the first attempt has failed, degraded from then on.
import pino from "pino";
import { expect, test, vi } from "vitest";
import { ClusterRole, Secret, ValidatingWebhookConfiguration } from "../api/builtin.ts";
import type { KubeObject } from "../api/object.ts";
import { resourceId, type ResourceRef } from "../api/resource-ref.ts";
import type { Informers } from "../cache/informers.ts";
import { WritableStore } from "../cache/store.ts";
import type { KubeClient } from "../client/client.ts";
import { DEFAULT_CERTIFICATE_LIFETIMES } from "./webhook-certificates.ts";
import { startWebhookRegistration } from "./webhook-registration.ts";

function syncedStore(ref: ResourceRef): WritableStore<KubeObject> {
  const store = new WritableStore<KubeObject>(ref, { onFault: (error) => expect.fail(String(error)) });
  store.setState("watching");
  store.replace([], "1");
  return store;
}

test("a registration that fails is degraded, so that it does not keep the process unready", async () => {
  const stores = new Map(
    [Secret as ResourceRef, ValidatingWebhookConfiguration as ResourceRef].map((ref) => [
      resourceId(ref),
      syncedStore(ref),
    ]),
  );
  const stopping = new AbortController();
  const registration = startWebhookRegistration({
    client: { create: () => Promise.reject(new Error("secrets may not be created")) } as unknown as KubeClient,
    informers: {
      ensure: (ref: ResourceRef) => ({ store: stores.get(resourceId(ref)), release: () => undefined }),
    } as unknown as Informers,
    secret: { namespace: "system", name: "webhook" },
    configuration: "names",
    owner: { ref: ClusterRole, name: "webhook" },
    webhooks: [
      {
        name: "names.example.org",
        scope: { rules: [], timeoutSeconds: 1 },
        address: { url: "https://localhost:1/review" },
      },
    ],
    hosts: ["localhost"],
    lifetimes: DEFAULT_CERTIFICATE_LIFETIMES,
    fieldManager: "test",
    setCertificate: () => undefined,
    signal: stopping.signal,
    log: pino({ level: "silent" }),
  });
  expect(registration.check()).toEqual(expect.any(String));
  await vi.waitFor(() => expect(registration.check()).toEqual({ degraded: "secrets may not be created" }));
  stopping.abort();
  await registration.stopped;
});
