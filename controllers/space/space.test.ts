// Deletion of a Space whose namespace may have another owner that the cache does not show yet.
import { describe, expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import { LABELS } from "../../crds/labels.ts";
import { Route } from "../../crds/route/route.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { Namespace, RoleBinding } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { anApp, aRoute, aSpace, makeObject } from "../../crds/testing/objects.ts";
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
  /** Routes and service instances of all spaces. */
  routes?: KubeObject[];
  instances?: KubeObject[];
  /** The namespace on the server at each live read; the last one repeats. */
  live: (NamespaceObject | undefined)[];
}

/** In the cache the Space owns the namespace, which contains a role. */
function contextOf({ seen = [], stored = [], routes = [], instances = [], live }: State): {
  context: ReconcileContext;
  writes: string[];
  patches: unknown[];
} {
  const writes: string[] = [];
  const patches: unknown[] = [];
  const looks = [...live];
  const kinds = new Map<ResourceRef, unknown[]>([
    [Namespace, [OURS]],
    [RoleBinding, [aBinding("space_developer", "alice")]],
    [App, seen],
    [Route, routes],
    [ServiceInstance, instances],
  ]);
  const cached = (ref: ResourceRef, { namespace }: { namespace?: string } = {}): unknown[] =>
    (kinds.get(ref) ?? []).filter((object) =>
      ref === Route || ref === ServiceInstance
        ? !namespace || (object as KubeObject).metadata.namespace === namespace
        : true,
    );
  const client = {
    find: () => Promise.resolve(looks.length > 1 ? looks.shift() : looks[0]),
    list: (ref: ResourceRef) => Promise.resolve({ items: ref === App ? stored : [] }),
    delete: (ref: ResourceRef, { name }: { name: string }) =>
      Promise.resolve(void writes.push(`delete ${ref.kind} ${name}`)),
    patch: (
      ref: ResourceRef,
      { name }: { name: string },
      { body }: { body: { metadata: { resourceVersion?: string } } },
    ) => {
      if (ref !== Namespace) patches.push(body);
      return Promise.resolve(void writes.push(`patch ${ref.kind} ${name} ${body.metadata.resourceVersion}`));
    },
  } as unknown as KubeClient;
  return { context: { client, read: { list: cached } } as unknown as ReconcileContext, writes, patches };
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

  test("is taken off the routes and service instances that other spaces share with it", async () => {
    const metadata = { namespace: "other", resourceVersion: "7" };
    const destinations = [
      { app: "shop", process: "web", namespace: "shared" },
      { app: "own", process: "web", namespace: "" },
    ];
    const route = aRoute({ sharedSpaces: ["shared", "third"], destinations }, { metadata });
    const alone = aRoute({ sharedSpaces: ["third"], destinations: [] }, { metadata });
    const instance = makeObject(ServiceInstance, "db", { spec: { sharedSpaces: ["shared"] }, metadata });
    const { context, patches } = contextOf({ routes: [route, alone], instances: [instance], live: [OURS] });
    await spaceController.finalize?.(aSpace(), context);
    expect(patches).toEqual([
      {
        metadata: { resourceVersion: "7" },
        spec: { sharedSpaces: ["third"], destinations: [expect.objectContaining({ app: "own" })] },
      },
      { metadata: { resourceVersion: "7" }, spec: { sharedSpaces: [] } },
    ]);
  });

  test("is given back as it was judged", async () => {
    const { context, writes } = contextOf({ live: [OURS] });
    await spaceController.finalize?.(adopting, context);
    expect(writes).toEqual(["delete RoleBinding space_developer-alice", "patch Namespace shared at-uid-dev"]);
  });
});
