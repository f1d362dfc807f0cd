// Audit events of what service brokers have done: once for each operation, in the name of who asked.
import { expect, test } from "vitest";
import { LABELS } from "../../crds/labels.ts";
import { anOrg, aSpace } from "../../crds/testing/objects.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { listServiceEvents, type Serviced } from "./service-events.ts";

const space = { [LABELS.ownerUid]: "uid-dev", [LABELS.space]: "S", [LABELS.org]: "O" };
const all = [
  { kind: "Namespace", metadata: { name: "acme-dev", labels: space } },
  { kind: "Namespace", metadata: { name: "acme", labels: { [LABELS.ownerUid]: "uid-acme" } } },
  anOrg(),
  aSpace(),
] as KubeObject[];
const read = {
  find: ({ kind }: { kind: string }, { name }: { name: string }) =>
    all.find((one) => one.kind === kind && one.metadata.name === name),
  byUid: ({ kind }: { kind: string }, uid: string) => all.find((one) => one.kind === kind && one.metadata.uid === uid),
} as unknown as Reader;

function thing(operation: [type: string, state: string, at?: number] | undefined, spec: object = {}): Serviced {
  const [type, state, at = 1] = operation ?? [];
  const annotations = { "cupola.dev/asked-by": "ann" };
  return {
    metadata: { namespace: "acme-dev", name: "db", uid: "U", annotations },
    spec,
    status: operation ? { lastOperation: { type, state, createdAt: new Date(at).toISOString() } } : {},
  } as unknown as Serviced;
}
const KEY = { type: "key", instanceRef: { name: "db" } };
const BINDING = { type: "app", instanceRef: { name: "db" } };

test.each<[string, Serviced, Serviced | undefined, string[]]>([
  ["a creation", thing(["create", "initial"]), thing(["create", "succeeded"]), ["audit.service_instance.create"]],
  ["one that goes on", thing(["create", "initial"]), thing(["create", "in progress"]), []],
  ["one that fails", thing(["create", "initial"]), thing(["create", "failed"]), []],
  ["another change", thing(["create", "succeeded"]), thing(["create", "succeeded"]), []],
  ["an update", thing(["create", "succeeded"]), thing(["update", "succeeded", 2]), ["audit.service_instance.update"]],
  ["a deletion", thing(["delete", "in progress"]), undefined, ["audit.service_instance.delete"]],
  ["a purge", thing(["create", "succeeded"]), undefined, []],
  ["a key", thing(["create", "initial"], KEY), thing(["create", "succeeded"], KEY), ["audit.service_key.create"]],
  ["a binding", thing(["delete", "initial"], BINDING), undefined, ["audit.service_binding.delete"]],
])("%s", (_name, old, object, types) => {
  const events = listServiceEvents(read, old, object, new Date(0));
  expect(events.map(({ type }) => type)).toEqual(types);
  for (const { actor, spaceGUID } of events) expect([actor.name, spaceGUID]).toEqual(["ann", "S"]);
});
