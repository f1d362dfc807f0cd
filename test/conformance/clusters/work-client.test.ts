// A cluster of mode pull as a client: what its writes leave in Works, and what it refuses.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LABELS } from "../../../crds/labels.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { clusterNamespace, workName } from "../../../crds/work/names.ts";
import { Work } from "../../../crds/work/work.ts";
import { ConfigMap, Namespace } from "../../../kube/api/builtin.ts";
import type { Draft, KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { KubeError } from "../../../kube/client/errors.ts";
import { remoteMarking } from "../../../kube/controller/child-marking.ts";
import { createOwnedObjects, type OwnedObjects } from "../../../kube/controller/owned-objects.ts";
import { installManifests } from "../../../platform/install.ts";
import { toRemoteMarkers } from "../../../platform/operations/controller-settings.ts";
import { createWorkClient } from "../../../platform/operations/work-client.ts";
import { startEmbedded } from "../embedded-server.ts";

const NAMESPACE = clusterNamespace("west");
const AT = { namespace: "acme-dev", name: "route" };
const KEY = { namespace: NAMESPACE, name: workName(RouteBinding.kind, AT) };
const MARKERS = toRemoteMarkers("hub");

const identity = { guid: "guid", name: "name" };
const route: Draft = {
  apiVersion: "workloads.cupola.dev/v1alpha1",
  kind: RouteBinding.kind,
  metadata: AT,
  spec: {
    ...{ class: "router", hostname: "shop.apps.example", routeGUID: "guid" },
    ...{ space: identity, org: identity, destinations: [] },
  },
};
const owner = { id: "guid", object: { ...route, metadata: AT } as never };

describe("a cluster of mode pull as a client", () => {
  const ends: (() => Promise<unknown>)[] = [];
  let hub: KubeClient;
  let isFailing = false;
  let west: KubeClient;

  beforeAll(async () => {
    const server = await startEmbedded();
    ends.push(() => server.stop());
    hub = createClient({ server: server.url, ca: server.ca, auth: { kind: "token", token: server.adminToken } });
    ends.push(() => hub.close());
    await installManifests(hub);
    await hub.create(Namespace, { metadata: { name: NAMESPACE } });
    const failing: KubeClient = {
      ...hub,
      delete: (ref, key, options) =>
        isFailing
          ? Promise.reject(new KubeError({ code: 500, reason: "InternalError", message: "etcd is away" }))
          : hub.delete(ref, key, options),
    };
    west = createWorkClient({ hub: failing, cluster: "west", manager: MARKERS.fieldManager, silentMs: 60_000 });
  }, 60_000);
  afterAll(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  /** As a controller has them, with a cache that has all that there is now. */
  async function ownedObjects(): Promise<OwnedObjects> {
    const { items, metadata } = await west.list(RouteBinding, { labelSelector: `${LABELS.hub}=hub` });
    return createOwnedObjects({
      client: west,
      marking: remoteMarking(MARKERS, RouteBinding),
      controller: "test",
      stores: [
        {
          ref: RouteBinding,
          find: ({ name }) => items.find((one) => one.metadata.name === name),
          list: () => items,
          resourceVersionIn: () => metadata.resourceVersion ?? "",
        },
      ],
      completeStores: [],
    });
  }
  const sync = async (drafts: readonly Draft[]): Promise<void> => (await ownedObjects()).sync(owner, drafts);
  const spec = async (): Promise<Work["spec"]> => (await hub.get(Work, KEY)).spec;

  test("an object that is wanted again is not to be removed any more, though its deletion had begun", async () => {
    await sync([route]);
    isFailing = true;
    await expect(sync([])).rejects.toThrow("etcd is away");
    expect(await spec()).toMatchObject({ remove: true });
    isFailing = false;
    await sync([route]);
    expect(await spec()).toMatchObject({ remove: false, manifest: { spec: route["spec"] } });
    const { resourceVersion } = (await hub.get(Work, KEY)).metadata;
    await sync([route]);
    expect((await hub.get(Work, KEY)).metadata.resourceVersion).toBe(resourceVersion);
  });

  test("one that is already being deleted stays to be removed", async () => {
    await sync([]);
    const { metadata } = await hub.get(Work, KEY);
    expect(metadata.deletionTimestamp).toBeDefined();
    await west.apply(RouteBinding, route, { fieldManager: MARKERS.fieldManager, force: true });
    expect(await spec()).toMatchObject({ remove: true });
  });

  test.each<[string, () => Promise<unknown>]>([
    ["read", () => west.find(ConfigMap, AT)],
    ["list", () => west.list(ConfigMap)],
    ["create", () => west.create(ConfigMap, { metadata: AT })],
    ["apply", () => west.apply(ConfigMap, { metadata: AT }, { fieldManager: MARKERS.fieldManager, force: true })],
    ["delete", () => west.delete(ConfigMap, AT)],
  ])("an object of a kind that no Work holds is refused: %s", async (_what, call) => {
    await expect(call()).rejects.toThrow("a cluster of mode pull has no kind ConfigMap");
    expect((await hub.list(Work)).items.filter(({ spec: { kind } }) => kind === "ConfigMap")).toEqual([]);
  });
});
