// Deletion of an Org whose namespace may have another owner that the cache does not show yet.
import { describe, expect, test } from "vitest";
import { Domain } from "../../crds/domain/domain.ts";
import { LABELS } from "../../crds/labels.ts";
import { Org } from "../../crds/org/org.ts";
import type { Space } from "../../crds/space/space.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { anOrg, aSpace } from "../../crds/testing/objects.ts";
import type { NamespaceObject } from "../shared/owned-namespace.ts";
import { orgController } from "./org.ts";

const namespaceOf = (owner: string, uid: string): NamespaceObject =>
  ({ metadata: { name: "acme", uid, labels: { [LABELS.ownerUid]: owner } } }) as unknown as NamespaceObject;
const ours = namespaceOf("uid-acme", "n1");

/** `live` is the namespace on the server, `org` the Org. */
function contextOf(
  spaces: Space[],
  live: NamespaceObject | undefined,
  { domains = [], org = anOrg() }: { domains?: Domain[]; org?: Org } = {},
): { context: ReconcileContext; writes: string[] } {
  const writes: string[] = [];
  const client = {
    find: (ref: ResourceRef) => Promise.resolve(ref === Org ? org : live),
    list: () => Promise.resolve({ items: [] }),
    delete: (ref: ResourceRef, { name }: { name: string }) =>
      Promise.resolve(void writes.push(`delete ${ref.kind} ${name}`)),
    patch: (ref: ResourceRef, { name }: { name: string }, { body }: { body: unknown }) =>
      Promise.resolve(void writes.push(`patch ${ref.kind} ${name} ${JSON.stringify(body)}`)),
  } as unknown as KubeClient;
  const read = { list: (ref: ResourceRef) => (ref === Namespace ? [ours] : ref === Domain ? domains : spaces) };
  return { context: { client, read } as unknown as ReconcileContext, writes };
}

describe("a namespace that the cache shows as the Org's", () => {
  test.each([
    ["made anew for another", namespaceOf("uid-other", "n2")],
    ["gone", undefined],
  ])("and that is %s keeps its Spaces", async (_what, live) => {
    const { context, writes } = contextOf([aSpace()], live);
    await orgController.finalize?.(anOrg(), context);
    expect(writes).toEqual([]);
  });

  test("deletes its Spaces first", async () => {
    const full = contextOf([aSpace()], ours);
    expect(await orgController.finalize?.(anOrg(), full.context)).toMatchObject({ ready: { reason: "SpacesRemain" } });
    expect(full.writes).toEqual(["delete Space dev"]);
    const empty = contextOf([], ours);
    expect(await orgController.finalize?.(anOrg(), empty.context)).toMatchObject({
      ready: { reason: "NamespaceTerminating" },
    });
    expect(empty.writes).toEqual(["delete Namespace acme"]);
  });
});

describe("domains that others share with an Org", () => {
  const domain = (name: string, sharedOrgs: string[]): Domain =>
    ({
      metadata: { name, namespace: "other", resourceVersion: "7" },
      spec: { name: `${name}.example`, sharedOrgs },
    }) as unknown as Domain;
  const domains = [domain("both", ["acme", "third"]), domain("others", ["third"])];

  test("are no longer shared with a deleted org", async () => {
    const { context, writes } = contextOf([], undefined, { domains });
    await orgController.finalize?.(anOrg(), context);
    expect(writes).toEqual(['patch Domain both {"metadata":{"resourceVersion":"7"},"spec":{"sharedOrgs":["third"]}}']);
  });

  test("stay shared with the next one of its name, when it went elsewhere already", async () => {
    const next = anOrg();
    const { context, writes } = contextOf([], undefined, {
      domains,
      org: { ...next, metadata: { ...next.metadata, uid: "uid-next" } },
    });
    await orgController.finalize?.(anOrg(), context);
    expect(writes).toEqual([]);
  });
});
