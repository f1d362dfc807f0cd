// A cluster that leaves the platform with its apps: nothing there ends, nobody marks or restores it, and the hub runs the apps on what it has left.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { detachCluster } from "../../../cli/cluster/detach.ts";
import { silentProgress } from "../../../cli/output.ts";
import { Cluster } from "../../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { isRealWorld } from "../../clusters/world-server.ts";
import { startReplica, type Replica } from "../../clusters/replica.ts";
import {
  type World,
  autoscale,
  indexesOf,
  listLRPs,
  placeShared,
  startWorld,
  untilReachable,
} from "../../clusters/world.ts";
import { eventually } from "../../eventually.ts";
import { applyApp, makeSpace } from "../controllers/test-env.ts";

describe("a cluster is detached", () => {
  const folder = mkdtempSync(join(tmpdir(), "cupola-detach-"));
  let world: World;
  let replica: Replica;
  let namespace: string;

  beforeAll(async () => {
    world = await startWorld({ spokes: ["east", "west"] });
    replica = await startReplica(() => world.connect(), { leads: true });
    ({ namespace } = await makeSpace(world.hub, "acme", "dev"));
    await placeShared(world.hub);
    await untilReachable(world, "east", "west");
    await world.hub.create(Secret, {
      metadata: { namespace, name: "password", labels: { [LABELS.envAllowed]: "allowed" } },
      stringData: { value: "geheim" },
    });
    const env = [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "password", key: "value" } } }];
    await applyApp(world.hub, { namespace, name: "shop" }, { app: { env }, process: { instances: 6 } });
    await eventually(async () => expect(indexesOf(await listLRPs(world, "shop"))).toEqual([0, 1, 2, 3, 4, 5]));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await replica?.stop();
    await world?.stop();
  });

  const detach = (name: string, kubeconfig: string): Promise<unknown> =>
    detachCluster(world.hub, name, { kubeconfig, force: true, progress: silentProgress });

  function writeKubeconfig(name: string): string {
    const { url, ca, adminToken } = world.spoke(name).server;
    const path = join(folder, `${name}.json`);
    const cluster = { server: url, "certificate-authority-data": Buffer.from(ca).toString("base64") };
    const config = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": name,
      contexts: [{ name, context: { cluster: name, user: name } }],
      clusters: [{ name, cluster }],
      users: [{ name, user: { token: adminToken } }],
    };
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  }

  const marksOf = ({ metadata }: KubeObject): unknown[] => [
    metadata.labels?.[LABELS.hub],
    metadata.labels?.[LABELS.hubOwner],
    ...(metadata.managedFields ?? []).filter(({ manager }) => manager?.startsWith("cupola-hub-")),
  ];

  test("only with a context of that cluster", async () => {
    for (const name of ["east", "mistyped"])
      await expect(detach(name, writeKubeconfig("west"))).rejects.toThrow("the context is of cluster west");
    const { items } = await world.spoke("west").client.list(LRP, { namespace });
    expect(items.map((lrp) => marksOf(lrp)[0])).toEqual([expect.any(String)]);
    expect(await world.hub.find(Cluster, { namespace: SYSTEM_NAMESPACE, name: "east" })).toBeDefined();
  });

  test("its apps run on there without a mark, an autoscaler scales them in peace, and the hub has all instances elsewhere", async () => {
    const { client: east } = world.spoke("east");
    const { items: before } = await east.list(LRP, { namespace });
    const secrets = await east.list(Secret, { namespace });
    expect(before.map(({ spec }) => spec.instances)).toEqual([2]);
    expect(secrets.items).not.toEqual([]);

    await detach("east", writeKubeconfig("east"));

    const { items: after } = await east.list(LRP, { namespace });
    expect(after.map(({ metadata: { uid }, spec }) => [uid, spec])).toEqual(
      before.map(({ metadata: { uid }, spec }) => [uid, spec]),
    );
    const kept = (await east.list(Secret, { namespace })).items;
    expect(kept.map(({ metadata }) => metadata.uid)).toEqual(secrets.items.map(({ metadata }) => metadata.uid));
    for (const object of [...after, ...kept]) expect(marksOf(object)).toEqual([undefined, undefined]);

    const [lrp] = after;
    await east.patch(LRP, lrp!.metadata, { type: "merge", body: { spec: { instances: 1 } } });
    await eventually(async () => {
      const rest = (await listLRPs(world, "shop")).filter(({ cluster }) => cluster !== "east");
      expect(indexesOf(rest)).toEqual([0, 1, 2, 3, 4, 5]);
    });
    await replica.idle();
    expect((await east.get(LRP, lrp!.metadata)).spec.instances).toBe(1);
    if (isRealWorld) {
      await autoscale(east, lrp!, 3);
      await eventually(async () => expect((await east.get(LRP, lrp!.metadata)).spec.instances).toBe(3));
      await replica.idle();
      expect((await east.get(LRP, lrp!.metadata)).spec.instances).toBe(3);
    }
    // Repeated, as after a lost connection, it finds nothing more to do.
    expect(await detach("east", writeKubeconfig("east"))).toMatchObject({ json: { name: "east", released: {} } });
  });
});
