// Deleting all data on the embedded server: it ends when the last finalizer is gone, and names what does not end.
import { afterAll, beforeAll, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Org } from "../../../crds/org/org.ts";
import { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { startEmbedded } from "../embedded-server.ts";
import { eventually } from "../../eventually.ts";
import { deleteData } from "../../../platform/delete-data.ts";
import { installManifests } from "../../../platform/install.ts";

const BROKER = { namespace: SYSTEM_NAMESPACE, name: "fake" };
let server: Awaited<ReturnType<typeof startEmbedded>>;
let client: KubeClient;

beforeAll(async () => {
  server = await startEmbedded();
  client = createClient({ server: server.url, ca: server.ca, auth: { kind: "token", token: server.adminToken } });
  await installManifests(client);
}, 60_000);
afterAll(async () => {
  await client?.close();
  await server?.stop();
});

const free = (ref: ResourceRef, key: { name: string }): Promise<unknown> =>
  client.patch(ref, key, { type: "merge", body: { metadata: { finalizers: null } } });

test("a broker of the whole platform goes, after the orgs", async () => {
  const lines: string[] = [];
  await client.create(Org, { metadata: { name: "acme", finalizers: ["cupola.dev/org"] }, spec: {} });
  await client.create(ServiceBroker, {
    metadata: { ...BROKER, finalizers: ["cupola.dev/broker"] },
    spec: { name: "fake", url: "https://broker.example", credentialsSecretRef: { name: "x" } },
  });
  const deleting = deleteData(client, { pollMs: 20, nameMs: 30_000, stallMs: 30_000, deadlineMs: 30_000 }, (line) =>
    lines.push(line),
  );
  await eventually(async () =>
    expect((await client.get(Org, { name: "acme" })).metadata.deletionTimestamp).toBeDefined(),
  );
  expect((await client.get(ServiceBroker, BROKER)).metadata.deletionTimestamp).toBeUndefined();
  await free(Org as unknown as ResourceRef, { name: "acme" });
  await eventually(async () =>
    expect((await client.get(ServiceBroker, BROKER)).metadata.deletionTimestamp).toBeDefined(),
  );
  await free(ServiceBroker as unknown as ResourceRef, BROKER);
  await deleting;
  expect(lines).toEqual(["waiting for the end of 1 orgs, 1 servicebrokers", "waiting for the end of 1 servicebrokers"]);
}, 60_000);

test("when nothing changes any more, it fails with what is left, why, and a next step", async () => {
  await client.create(ServiceBroker, {
    metadata: { ...BROKER, finalizers: ["cupola.dev/broker"] },
    spec: { name: "fake", url: "https://broker.example", credentialsSecretRef: { name: "x" } },
  });
  await expect(
    deleteData(client, { pollMs: 20, nameMs: 30_000, stallMs: 500, deadlineMs: 30_000 }, () => undefined),
  ).rejects.toThrow(
    /1 servicebrokers left, and nothing has changed for \d+ s\nServiceBroker cupola-system\/fake: no controller has said why; its finalizers are cupola.dev\/broker\. Next: /,
  );
  await free(ServiceBroker as unknown as ResourceRef, BROKER);
}, 60_000);

test("whatever does not end is named with its reason while the deletion waits, once", async () => {
  const lines: string[] = [];
  await client.create(Org, { metadata: { name: "stuck", finalizers: ["cupola.dev/org"] }, spec: {} });
  const times = { pollMs: 20, nameMs: 100, stallMs: 60_000, deadlineMs: 60_000 };
  const deleting = deleteData(client, times, (line) => lines.push(line));
  const named = (): string[] => lines.filter((line) => line.startsWith("still waiting for Org stuck: "));
  await eventually(() => expect(named()).toHaveLength(1));
  expect(named()[0]).toMatch(/no controller has said why; its finalizers are cupola.dev\/org. Next: kubectl logs /);
  await free(Org as unknown as ResourceRef, { name: "stuck" });
  await deleting;
  expect(named()).toHaveLength(1);
}, 90_000);
