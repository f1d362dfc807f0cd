// Which writes and deletions past the CF API are recorded, and whom their events name.
import { pino } from "pino";
import { afterEach, expect, test, vi } from "vitest";
import type { PlacedEvent } from "../../api/cf/audit/to-audit-events.ts";
import { recordOutsideWriters } from "../../crds/audit-log/outside-writers.ts";
import { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import type { KubeObject, ManagedFieldsEntry } from "../../kube/api/object.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Change } from "../../kube/cache/reader.ts";
import { startOutsideAudit } from "./outside-audit.ts";

const aBuildpack = (name: string, spec: object = {}, managedFields?: ManagedFieldsEntry[]): Buildpack =>
  makeObject(Buildpack, name, {
    spec: { name, ...spec },
    metadata: { namespace: SYSTEM_NAMESPACE, ...(managedFields && { managedFields }) },
  });

let stop = (): void => undefined;
afterEach(() => stop());

/** Sees changes of Buildpacks; nothing else is there but the platform's namespace. */
function start() {
  const placed: PlacedEvent[] = [];
  const namespace = { kind: "Namespace", metadata: { name: SYSTEM_NAMESPACE } };
  const informers = {
    read: { find: ({ kind }: { kind: string }) => (kind === "Namespace" ? namespace : undefined), list: () => [] },
  } as unknown as Informers;
  const log = pino({ level: "silent" });
  const audit = startOutsideAudit({ informers, log, record: (one) => placed.push(one), deletionWaitMs: 1 });
  stop = () => audit.stop();
  const see = (what: object): void =>
    audit.see({ ref: Buildpack, change: { initial: false, ...what } as Change<KubeObject>, at: new Date() });
  return {
    remove: (object: Buildpack) => see({ type: "deleted", old: object, object }),
    add: (object: Buildpack) => see({ type: "added", object }),
    listNames: () => placed.map(({ event }) => `${event.type} ${event.target.name}`),
    placed,
  };
}

test("a buildpack that the platform removes because a builder image lacks it is not kubectl's deletion", async () => {
  const audit = start();
  audit.remove(aBuildpack("of-image", { builder: "pods", path: "example/ruby" }));
  audit.remove(aBuildpack("uploaded"));
  await vi.waitFor(() => expect(audit.listNames()).toEqual(["audit.buildpack.delete uploaded"]));
});

test("a manager is not taken for the user of that name: whoever writes chooses it", () => {
  const audit = start();
  audit.add(recordOutsideWriters(aBuildpack("made", {}, [{ manager: "alice", operation: "Update" }])));
  expect(audit.placed.map(({ event }) => event.actor)).toEqual([
    { guid: "field manager alice", type: "user", name: "field manager alice" },
  ]);
});
