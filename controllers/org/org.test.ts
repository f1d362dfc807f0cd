// The end of an Org whose namespace may have become somebody else's without this process knowing.
import { describe, expect, test } from "vitest";
import { Domain } from "../../crds/domain/domain.ts";
import { LABELS } from "../../crds/labels.ts";
import { Namespace } from "../../kube/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { ReconcileContext } from "../../kube/controller.ts";
import type { ResourceRef } from "../../kube/resource-ref.ts";
import type { Space } from "../../crds/space/space.ts";
import { anOrg, aSpace } from "../fixtures.ts";
import type { NamespaceObject } from "../namespaces.ts";
import { orgController } from "./org.ts";

const namespaceOf = (owner: string, uid: string): NamespaceObject => ({ metadata: { name: "acme", uid, labels: { [LABELS.ownerUid]: owner } } }) as unknown as NamespaceObject;
const ours = namespaceOf("uid-acme", "n1");

function contextOf(spaces: Space[], live: NamespaceObject | undefined, domains: Domain[] = []): { context: ReconcileContext; writes: string[] } {
  const writes: string[] = [];
  const client = {
    find: () => Promise.resolve(live),
    list: () => Promise.resolve({ items: [] }),
    delete: (ref: ResourceRef, { name }: { name: string }) => Promise.resolve(void writes.push(`delete ${ref.kind} ${name}`)),
    patch: (ref: ResourceRef, { name }: { name: string }, { body }: { body: unknown }) => Promise.resolve(void writes.push(`patch ${ref.kind} ${name} ${JSON.stringify(body)}`)),
  } as unknown as KubeClient;
  const read = { list: (ref: ResourceRef) => (ref === Namespace ? [ours] : ref === Domain ? domains : spaces) };
  return { context: { client, read } as unknown as ReconcileContext, writes };
}

describe("a namespace that the cache shows as the Org's", () => {
  test.each([["made anew for another", namespaceOf("uid-other", "n2")], ["gone", undefined]])("and that is %s keeps its Spaces", async (_what, live) => {
    const { context, writes } = contextOf([aSpace()], live);
    await orgController.finalize?.(anOrg(), context);
    expect(writes).toEqual([]);
  });

  test("loses its Spaces, then goes", async () => {
    const full = contextOf([aSpace()], ours);
    await expect(orgController.finalize?.(anOrg(), full.context)).rejects.toMatchObject({ reason: "SpacesRemain" });
    expect(full.writes).toEqual(["delete Space dev"]);
    const empty = contextOf([], ours);
    await expect(orgController.finalize?.(anOrg(), empty.context)).rejects.toMatchObject({ reason: "NamespaceTerminating" });
    expect(empty.writes).toEqual(["delete Namespace acme"]);
  });
});

test("domains are not shared any more with an Org that has gone", async () => {
  const domain = (name: string, sharedOrgs: string[]): Domain => ({ metadata: { name, namespace: "other", resourceVersion: "7" }, spec: { name: `${name}.example`, sharedOrgs } }) as unknown as Domain;
  const { context, writes } = contextOf([], undefined, [domain("both", ["acme", "third"]), domain("others", ["third"])]);
  await orgController.finalize?.(anOrg(), context);
  expect(writes).toEqual(['patch Domain both {"metadata":{"resourceVersion":"7"},"spec":{"sharedOrgs":["third"]}}']);
});
