// Parameters in a Secret: whose they are, and that they go with the object that they are for.
import { expect, test, vi } from "vitest";
import { LABELS } from "../../../crds/labels.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { readParameters } from "./ask-broker.ts";

const instance = { metadata: { namespace: "space", name: "db", uid: "U" }, spec: {} } as unknown as ServiceInstance;
const own = { ref: ServiceInstance, object: instance, label: LABELS.serviceInstance, guid: "G" };
const data = { parameters: Buffer.from('{"size":5}').toString("base64") };
const owner = { apiVersion: "cupola.dev/v1alpha1", kind: "ServiceInstance", name: "db", uid: "U" };

test.each<[string, object, boolean]>([
  ["its own, which the API could not give it before it ended", { labels: { [own.label]: "G" } }, true],
  ["its own", { labels: { [own.label]: "G" }, ownerReferences: [owner] }, false],
  ["a person's", { labels: { "cupola.dev/env": "allowed" } }, false],
])("a Secret that is %s", async (_what, metadata, isGiven) => {
  const patch = vi.fn();
  const find = () => Promise.resolve({ metadata: { name: "s", ...metadata }, data });
  const client = { find, patch } as unknown as KubeClient;
  expect(await readParameters("s", own, { client })).toEqual({ size: 5 });
  const bodies = patch.mock.calls.map(([, key, { body }]) => [key, body] as unknown);
  const given = { metadata: { ownerReferences: [expect.objectContaining(owner)] } };
  expect(bodies).toEqual(isGiven ? [[{ namespace: "space", name: "s" }, given]] : []);
});

test("another object's Secret is none", async () => {
  const patch = vi.fn();
  const find = () => Promise.resolve({ metadata: { name: "s", labels: { [own.label]: "other" } }, data });
  const client = { find, patch } as unknown as KubeClient;
  await expect(readParameters("s", own, { client })).rejects.toMatchObject({ reason: "ParametersMissing" });
  expect(patch).not.toHaveBeenCalled();
});
