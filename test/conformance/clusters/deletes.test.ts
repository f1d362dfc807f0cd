// Objects on another cluster whose owners the hub lost: each stays for an hour, many of them until a person says so, and all while the hub cannot see its own.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { Cluster } from "../../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../../crds/process/process.ts";
import { DEFINITIONS } from "../../../crds/definitions.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { applyObjects } from "../../../platform/install.ts";
import { startReplica, type Replica } from "../../clusters/replica.ts";
import {
  type World,
  clustersOf,
  conditionOf,
  indexesOf,
  leaveOrphan,
  listLRPs,
  placeShared,
  startWorld,
  untilReachable,
} from "../../clusters/world.ts";
import { eventually } from "../../eventually.ts";
import { applyApp, makeSpace } from "../controllers/test-env.ts";

const MINUTE = 60_000;
const PLATFORM = "platform-token";

describe("deletions that nobody told", () => {
  let world: World;
  let replica: Replica;
  let namespace: string;
  let like: LRP;

  beforeAll(async () => {
    world = await startWorld({ spokes: ["east"], users: [{ token: PLATFORM, user: "platform" }] });
    replica = await startReplica(() => world.connect(), { leads: true });
    ({ namespace } = await makeSpace(world.hub, "acme", "dev"));
    await placeShared(world.hub);
    await untilReachable(world, "east");
    await applyApp(world.hub, { namespace, name: "kept" }, { process: { instances: 4 } });
    like = await eventually(async () => {
      const found = (await listLRPs(world, "kept")).find(({ cluster }) => cluster === "east");
      expect(found).toBeDefined();
      return found!.lrp;
    });
  });
  afterAll(async () => {
    await replica?.stop();
    await world?.stop();
  });

  const names = async (): Promise<string[]> =>
    (await world.spoke("east").client.list(LRP)).items.map(({ metadata }) => metadata.name);
  const status = async (): Promise<Cluster["status"]> =>
    (await world.hub.get(Cluster, { namespace: SYSTEM_NAMESPACE, name: "east" })).status;
  const condition = (type: string) => conditionOf(world.hub, "east", type);

  /** The platform looks again, as it does every 15 s. */
  const look = (): Promise<unknown> =>
    world.hub.patch(
      Cluster,
      { namespace: SYSTEM_NAMESPACE, name: "east" },
      { type: "merge", body: { metadata: { annotations: { look: crypto.randomUUID() } } } },
    );

  /** As if the orphans had been seen so long ago. */
  async function age(minutes: number): Promise<void> {
    const since = new Date(Date.now() - minutes * MINUTE).toISOString();
    const orphans = ((await status())?.orphans ?? []).map((one) => ({ ...one, since }));
    await world.hub.patch(
      Cluster,
      { namespace: SYSTEM_NAMESPACE, name: "east" },
      { type: "merge", body: { status: { orphans } } },
      { subresource: "status" },
    );
  }

  const orphan = (name: string, home = namespace): Promise<LRP> =>
    leaveOrphan(world.spoke("east").client, like, { namespace: home, name });

  /** Rights of the platform's user on kinds of ours, and on all of Kubernetes' own. */
  const grant = (resources: readonly string[]): Promise<void> => {
    const verbs = ["*"];
    const role = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: "platform" } };
    const rules = [
      { apiGroups: [...new Set(DEFINITIONS.map(({ group }) => group))], resources, verbs },
      {
        apiGroups: [
          "",
          "events.k8s.io",
          "rbac.authorization.k8s.io",
          "networking.k8s.io",
          "admissionregistration.k8s.io",
          "apiextensions.k8s.io",
          "coordination.k8s.io",
        ],
        resources: ["*"],
        verbs,
      },
    ];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "platform" };
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "platform" }];
    return applyObjects(world.hub, [
      { ...role, kind: "ClusterRole", rules } as KubeObject,
      { ...role, kind: "ClusterRoleBinding", roleRef, subjects } as KubeObject,
    ]);
  };

  const untilListed = (count: number): Promise<void> =>
    eventually(async () => {
      await look();
      expect((await status())?.orphans ?? []).toHaveLength(count);
    });

  async function allow(): Promise<void> {
    const body = { spec: { allowDeletes: crypto.randomUUID() } };
    await world.hub.patch(Cluster, { namespace: SYSTEM_NAMESPACE, name: "east" }, { type: "merge", body });
  }

  test("an object whose owner vanished waits for an hour, and the Cluster says so", async () => {
    await applyApp(world.hub, { namespace, name: "lost" }, { process: { instances: 2 } });
    await eventually(async () => expect(indexesOf(await listLRPs(world, "lost"))).toEqual([0, 1]));
    await replica.stop();
    const key = { namespace, name: "lost.web" };
    await world.hub.patch(Process, key, { type: "merge", body: { metadata: { finalizers: null } } });
    await world.hub.delete(App, { namespace, name: "lost" });
    await world.hub.delete(Process, key).catch(() => undefined);
    await eventually(async () => expect(await world.hub.find(Process, key)).toBeUndefined());
    replica = await startReplica(() => world.connect(), { leads: true });
    await untilListed(1);
    expect(await condition("Orphans")).toMatchObject({ status: "True", reason: "OwnersMissing" });
    expect(clustersOf(await listLRPs(world, "lost"))).toContain("east");
    await age(59);
    await look();
    await replica.idle();
    expect(clustersOf(await listLRPs(world, "lost"))).toContain("east");
    await age(61);
    await eventually(async () => expect(clustersOf(await listLRPs(world, "lost"))).not.toContain("east"));
    await untilListed(0);
    expect(await condition("Orphans")).toMatchObject({ status: "False" });
  });

  test("a hub that was wiped deletes nothing: more than its share is held until a person says so", async () => {
    const before = (await names()).length;
    for (let at = 0; at < 25; at++) await orphan(`orphan-${at}`);
    await untilListed(25);
    await age(120);
    await look();
    await eventually(async () =>
      expect(await condition("DeletesHeld")).toMatchObject({ status: "True", reason: "TooMany" }),
    );
    await look();
    await replica.idle();
    expect(await names()).toHaveLength(before + 25);
    await allow();
    await eventually(async () => expect(await names()).toHaveLength(before));
    await untilListed(0);
    expect(await condition("DeletesHeld")).toMatchObject({ status: "False" });
  });

  test("that word counts once, and one from a restored backup does not count", async () => {
    await orphan("later");
    await untilListed(1);
    await look();
    await replica.idle();
    expect(await names()).toContain("later");
    await world.hub.patch(
      Cluster,
      { namespace: SYSTEM_NAMESPACE, name: "east" },
      { type: "merge", body: { status: { allowedDeletes: null, orphans: null } } },
      { subresource: "status" },
    );
    await untilListed(1);
    await replica.idle();
    expect(await names()).toContain("later");
  });

  test("nothing is deleted on account of a space that the hub lost, however long ago", async () => {
    await allow();
    await eventually(async () => expect(await names()).not.toContain("later"));
    await orphan("homeless", "acme-gone");
    await untilListed(1);
    await age(600);
    await look();
    await eventually(async () =>
      expect(await condition("DeletesHeld")).toMatchObject({ status: "True", reason: "SpacesMissing" }),
    );
    expect(await names()).toContain("homeless");
    await allow();
    await eventually(async () => expect(await names()).not.toContain("homeless"));
  });

  test("nothing is deleted while the right to see owners is lost", async () => {
    await replica.stop();
    await grant(["*"]);
    replica = await startReplica(() => world.connect(PLATFORM), { leads: true });
    await orphan("unseen");
    await untilListed(1);
    // A watch is opened anew when it ends, so the right is lost for a replica that starts.
    await replica.stop();
    await grant(DEFINITIONS.map(({ plural }) => plural).filter((plural) => plural !== Process.plural));
    await age(120);
    replica = await startReplica(() => world.connect(PLATFORM), { leads: true, awaitsSync: false });
    for (let at = 0; at < 5; at++) {
      await look();
      await replica.idle();
    }
    expect(await names()).toContain("unseen");
    expect(clustersOf(await listLRPs(world, "kept"))).toEqual(["east", "local"]);
    await grant(["*"]);
    await eventually(async () => {
      await look();
      expect(await names()).not.toContain("unseen");
    });
    expect(clustersOf(await listLRPs(world, "kept"))).toEqual(["east", "local"]);
    await replica.stop();
    replica = await startReplica(() => world.connect(), { leads: true });
  }, 90_000);

  test("a decision that was lost is made again as it was, and no instance ends", async () => {
    const before = await listLRPs(world, "kept");
    const key = { namespace, name: "kept.web" };
    const decided = async (): Promise<string> => {
      const { assignments } = (await world.hub.get(PlacementDecision, key)).spec;
      return JSON.stringify(assignments.map(({ cluster, indexes }) => [cluster, indexes]).toSorted());
    };
    const assignments = await decided();
    const untilDecidedAgain = async (): Promise<void> => {
      await eventually(async () => expect(await decided()).toBe(assignments));
      await replica.idle();
      const after = await listLRPs(world, "kept");
      expect(after.map(({ lrp }) => lrp.metadata.uid).toSorted()).toEqual(
        before.map(({ lrp }) => lrp.metadata.uid).toSorted(),
      );
      expect(indexesOf(after)).toEqual([0, 1, 2, 3]);
    };
    for (const placement of [{ clusters: { matchLabels: {} } }, null]) {
      await replica.stop();
      await placeShared(world.hub, { placement: placement as never });
      await world.hub.delete(PlacementDecision, key);
      await eventually(async () => expect(await world.hub.find(PlacementDecision, key)).toBeUndefined());
      replica = await startReplica(() => world.connect(), { leads: true });
      await untilDecidedAgain();
    }
    await placeShared(world.hub);
    for (let at = 0; at < 5; at++) {
      const { metadata } = await world.hub.get(PlacementDecision, key);
      await world.hub.delete(PlacementDecision, key);
      await eventually(async () =>
        expect((await world.hub.get(PlacementDecision, key)).metadata.uid).not.toBe(metadata.uid),
      );
      await untilDecidedAgain();
    }
  });
});
