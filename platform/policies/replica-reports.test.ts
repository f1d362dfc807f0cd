// Enforced by membership: processes that judge, their reports under their Leases, rights that they lack, and members that joined just now.
import { expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Replica } from "../../crds/replica/replica.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { WritableStore } from "../../kube/cache/store.ts";
import type { Member } from "../../kube/lease/member.ts";
import { watchReplicaReports } from "./replica-reports.ts";

const VERSION = "u/1/1";
const member = (identity: string, operations = "api,controllers"): Member => ({
  identity,
  annotations: { "cupola.dev/operations": operations },
  since: "",
  leaseUid: `lease-${identity}`,
});
const replica = (name: string, status: object): KubeObject =>
  makeObject(Replica, name, {
    spec: { operations: [] },
    status,
    metadata: {
      namespace: SYSTEM_NAMESPACE,
      resourceVersion: "1",
      ownerReferences: [{ apiVersion: "", kind: "Lease", name, uid: `lease-${name}` }],
    },
  });
const has = { policies: { applied: [VERSION] } };

function setUp(members: Member[], replicas: KubeObject[], live = members) {
  const onFault = (error: unknown): never => {
    throw error;
  };
  const store = new WritableStore<KubeObject>(Replica as ResourceRef, { onFault });
  const reports = watchReplicaReports(
    { members: () => members, listConsistent: () => Promise.resolve(live), onChange: () => () => undefined },
    { ensure: () => ({ store, release: () => undefined }) as never },
  );
  const fill = (): void => {
    store.replace(replicas, "2");
    store.setState("watching");
  };
  const ask = (wasEnforced = false) => reports.find({ version: VERSION, reads: ["tasks.cupola.dev"], wasEnforced });
  return { fill, ask };
}

test("members that judge must have it, others need not", async () => {
  const { fill, ask } = setUp([member("a"), member("logs", "logs")], [replica("a", has)]);
  expect(await ask()).toBeUndefined();
  fill();
  expect(await ask()).toEqual({ enforced: true, pendingReplicas: [], errors: [] });
});

test("a webhook judges, so that it must have it, too", async () => {
  const { fill, ask } = setUp([member("a"), member("w", "webhook")], [replica("a", has), replica("w", { leads: [] })]);
  fill();
  expect(await ask()).toMatchObject({ enforced: false, pendingReplicas: ["w"] });
});

test("a member that joined just now counts before the condition is True, and not afterwards", async () => {
  const { fill, ask } = setUp([member("a")], [replica("a", has)], [member("a"), member("b")]);
  fill();
  expect(await ask()).toMatchObject({ enforced: false, pendingReplicas: ["b"] });
  expect(await ask(true)).toMatchObject({ enforced: true });
});

test("a joiner that is still listing has not reported", async () => {
  const { fill, ask } = setUp([member("a"), member("b")], [replica("a", has), replica("b", { leads: [] })]);
  fill();
  expect([(await ask())?.enforced, (await ask(true))?.enforced]).toEqual([false, true]);
});

test("a right that is missing is an error of that replica, whatever was before", async () => {
  const parked = [{ resource: "tasks.cupola.dev", reason: "Forbidden" }];
  const { fill, ask } = setUp([member("a")], [replica("a", { ...has, parked })]);
  fill();
  expect(await ask(true)).toEqual({
    enforced: false,
    pendingReplicas: [],
    errors: [{ replica: "a", error: "it may not watch tasks.cupola.dev" }],
  });
});
