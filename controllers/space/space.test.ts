// Deletion of a Space whose namespace may have another owner that the cache does not show yet.
import { describe, expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import { LABELS } from "../../crds/labels.ts";
import { Namespace, RoleBinding } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { anApp, aSpace } from "../../crds/testing/objects.ts";
import { aBinding } from "../shared/testing/fixtures.ts";
import type { NamespaceObject } from "../shared/owned-namespace.ts";
import { spaceController } from "./space.ts";

const namespaceOf = (owner: string, uid = "n1"): NamespaceObject =>
  ({
    metadata: { name: "shared", uid, resourceVersion: `at-${owner}`, labels: { [LABELS.ownerUid]: owner } },
  }) as unknown as NamespaceObject;
const OURS = namespaceOf("uid-dev");
const adopting = aSpace({ namespace: "shared" });

interface State {
  /** Contents of the namespace in the cache, and on the server. */
  seen?: KubeObject[];
  stored?: KubeObject[];
  /** The namespace on the server at each live read; the last one repeats. */
  live: (NamespaceObject | undefined)[];
}

/** In the cache the Space owns the namespace, which contains a role. */
function contextOf({ seen = [], stored = [], live }: State): { context: ReconcileContext; writes: string[] } {
  const writes: string[] = [];
  const looks = [...live];
  const cached = (ref: ResourceRef): unknown[] =>
    ref === Namespace ? [OURS] : ref === RoleBinding ? [aBinding("space_developer", "alice")] : ref === App ? seen : [];
  const client = {
    find: () => Promise.resolve(looks.length > 1 ? looks.shift() : looks[0]),
    list: (ref: ResourceRef) => Promise.resolve({ items: ref === App ? stored : [] }),
    delete: (ref: ResourceRef, { name }: { name: string }) =>
      Promise.resolve(void writes.push(`delete ${ref.kind} ${name}`)),
    patch: (
      ref: ResourceRef,
      { name }: { name: string },
      { body }: { body: { metadata: { resourceVersion?: string } } },
    ) => Promise.resolve(void writes.push(`patch ${ref.kind} ${name} ${body.metadata.resourceVersion}`)),
  } as unknown as KubeClient;
  return { context: { client, read: { list: cached } } as unknown as ReconcileContext, writes };
}

describe("a namespace that the cache still shows as the Space's", () => {
  test.each<[string, State]>([
    ["is another Space's by now", { seen: [anApp()], stored: [anApp()], live: [namespaceOf("uid-other")] }],
    ["was made anew", { seen: [anApp()], stored: [anApp()], live: [namespaceOf("uid-dev", "n2")] }],
    ["is gone", { seen: [anApp()], live: [undefined] }],
  ])("and that %s is left alone", async (_what, state) => {
    for (const space of [adopting, aSpace()]) {
      const { context, writes } = contextOf(state);
      await spaceController.finalize?.(space, context);
      expect(writes).toEqual([]);
    }
  });

  test.each<[string, State]>([
    [
      "becomes another's while the server is asked what is in it",
      { stored: [anApp()], live: [OURS, namespaceOf("uid-other")] },
    ],
    ["becomes another's before it is given back", { live: [OURS, OURS, namespaceOf("uid-other")] }],
  ])("and that %s is left alone, too", async (_what, state) => {
    const { context, writes } = contextOf(state);
    await spaceController.finalize?.(adopting, context);
    expect(writes).toEqual([]);
  });

  test("deletes its objects first, cached or live", async () => {
    for (const there of [{ seen: [anApp()] }, { stored: [anApp()] }]) {
      const { context, writes } = contextOf({ ...there, live: [OURS] });
      expect(await spaceController.finalize?.(adopting, context)).toMatchObject({
        ready: { reason: "ContentsRemain" },
      });
      expect(writes).toEqual(["delete App shop"]);
    }
  });

  test("is given back as it was judged", async () => {
    const { context, writes } = contextOf({ live: [OURS] });
    await spaceController.finalize?.(adopting, context);
    expect(writes).toEqual(["delete RoleBinding space_developer-alice", "patch Namespace shared at-uid-dev"]);
  });
});
