// ClusterBundles on a hub and two spokes: values, order, repair, what is left alone, and what goes.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cluster } from "../../../crds/cluster/cluster.ts";
import { ClusterBundle } from "../../../crds/cluster-bundle/cluster-bundle.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { ConfigMap, Namespace } from "../../../kube/api/builtin.ts";
import { startReplica, type Replica } from "../../clusters/replica.ts";
import { type World, conditionOf, startWorld, untilReachable } from "../../clusters/world.ts";
import { eventually } from "../../eventually.ts";

const KEY = { namespace: SYSTEM_NAMESPACE, name: "base" };

/** Twice as many fit beside another object or two, three times as many do not. */
const MANY = 40;

const manifest = (name: string, text: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  namespace: base\ndata:\n  text: "${text}"\n`;

describe("bundles on two clusters", () => {
  let world: World;
  let replica: Replica;

  beforeAll(async () => {
    world = await startWorld({ spokes: ["east", "west"] });
    for (const { client } of world.spokes.values()) await client.create(Namespace, { metadata: { name: "base" } });
    replica = await startReplica(() => world.connect(), { leads: true });
    await untilReachable(world, "east", "west");
  });
  afterAll(async () => {
    for (const { link } of world?.spokes.values() ?? []) link.set("open");
    await replica?.stop();
    await world?.stop();
  });

  const setManifests = (texts: readonly string[]): Promise<unknown> =>
    world.hub.apply(
      ConfigMap,
      { apiVersion: "v1", kind: "ConfigMap", metadata: KEY, data: { "base.yaml": texts.join("---\n") } },
      { fieldManager: "person", force: true },
    );
  const change = (spec: object): Promise<unknown> =>
    world.hub.patch(ClusterBundle, KEY, { type: "merge", body: { spec } });
  /** Text of the ConfigMaps on a cluster, by name. */
  const contents = async (cluster: string): Promise<Record<string, string | undefined>> => {
    const { items } = await world.spoke(cluster).client.list(ConfigMap, { namespace: "base" });
    return Object.fromEntries(items.map(({ metadata, data }) => [metadata.name, data?.["text"]]));
  };
  const untilContents = (cluster: string, expected: object): Promise<void> =>
    eventually(async () => expect(await contents(cluster)).toEqual(expected));
  const ready = async () =>
    (await world.hub.get(ClusterBundle, KEY)).status?.conditions?.find(({ type }) => type === "Ready");
  const untilReady = (expected: object): Promise<void> =>
    eventually(async () => expect(await ready()).toMatchObject(expected));

  test("come to all clusters with their values, and are put right", async () => {
    await world.hub.create(ClusterBundle, {
      metadata: KEY,
      spec: {
        clusters: { matchLabels: {} },
        manifestsFrom: { configMap: "base" },
        values: { PLACE: "anywhere" },
        overrides: [{ cluster: "east", values: { PLACE: "eu" } }],
      },
    });
    await untilReady({ status: "False", reason: "ManifestsMissing" });
    await setManifests([manifest("one", "${PLACE}"), manifest("two", "2")]);
    await untilContents("east", { one: "eu", two: "2" });
    await untilContents("west", { one: "anywhere", two: "2" });
    await untilReady({ status: "True", reason: "Applied", message: "applied on east, west" });

    const body = { data: { text: "changed" } };
    await world.spoke("west").client.patch(ConfigMap, { namespace: "base", name: "two" }, { type: "merge", body });
    await change({ values: { UNUSED: "x" } });
    await untilContents("west", { one: "anywhere", two: "2" });
    await replica.idle();
    expect((await world.hub.get(ClusterBundle, KEY)).status).toMatchObject({ wanted: 2, applied: 2 });
  });

  test("keep what clusters have while the manifests are gone or wrong", async () => {
    await setManifests(["apiVersion: v1\nkind: Secret\nmetadata: { name: s, namespace: base }\n"]);
    await untilReady({ status: "False", reason: "ManifestsInvalid" });
    await world.hub.delete(ConfigMap, KEY);
    await untilReady({ status: "False", reason: "ManifestsMissing" });
    expect(await contents("west")).toEqual({ one: "anywhere", two: "2" });
  });

  test("leave an object of somebody else as it is, and stop a change at the cluster that refuses it", async () => {
    await world
      .spoke("east")
      .client.create(ConfigMap, { metadata: { namespace: "base", name: "three" }, data: { text: "theirs" } });
    await setManifests([manifest("one", "new"), manifest("three", "3")]);
    await untilReady({ status: "False", reason: "NotApplied" });
    expect((await ready())?.message).toContain("east: ConfigMap base/three of the cluster is not this platform's");
    // An object stays until all that replaces it is there.
    expect(await contents("east")).toEqual({ one: "new", two: "2", three: "theirs" });
    expect(await contents("west")).toEqual({ one: "anywhere", two: "2" });

    await world.spoke("east").client.delete(ConfigMap, { namespace: "base", name: "three" });
    await change({ values: { UNUSED: "y" } });
    await untilContents("east", { one: "new", three: "3" });
    expect((await world.hub.get(ClusterBundle, KEY)).status?.clusters?.[0]?.objects).toHaveLength(2);
    await untilContents("west", { one: "new", three: "3" });
    await untilReady({ status: "True" });
  });

  test("that a cluster refuses again and again are not more there than the status has room for", async () => {
    const many = (letter: string): string[] => [
      ...Array.from({ length: MANY }, (_, index) => manifest(`${letter}${index}`, letter)),
      manifest("somebodys", "ours"),
    ];
    const onEast = async () =>
      (await world.hub.get(ClusterBundle, KEY)).status?.clusters?.find(({ name }) => name === "east");
    const count = async (letter: string): Promise<number> =>
      Object.values(await contents("east")).filter((text) => text === letter).length;
    await world
      .spoke("east")
      .client.create(ConfigMap, { metadata: { namespace: "base", name: "somebodys" }, data: { text: "theirs" } });
    await setManifests(many("a"));
    await eventually(async () => expect(await count("a")).toBe(MANY));
    await setManifests(many("b"));
    await eventually(async () => expect(await count("b")).toBe(MANY));
    await setManifests(many("c"));
    await eventually(async () => expect((await onEast())?.problem).toContain("of earlier manifests"));
    expect(await count("c")).toBe(0);
    // Somebody there makes room.
    const { client } = world.spoke("east");
    for (let index = 0; index < MANY; index++) await client.delete(ConfigMap, { namespace: "base", name: `a${index}` });
    await change({ values: { UNUSED: "room" } });
    // The status has them, so that nothing is lost when the next manifests come.
    await eventually(async () =>
      expect((await onEast())?.objects.filter((one) => one.startsWith("ConfigMap base/c"))).toHaveLength(MANY),
    );
    expect(await count("c")).toBe(MANY);
    await client.delete(ConfigMap, { namespace: "base", name: "somebodys" });
    await setManifests(many("b"));
    await eventually(async () => expect(await count("c")).toBe(0));
    await setManifests([manifest("one", "new"), manifest("three", "3")]);
    await untilContents("east", { one: "new", three: "3" });
    await untilContents("west", { one: "new", three: "3" });
  });

  test("wait for a while after each cluster, and pass over one that does not answer", async () => {
    await change({ soakSeconds: 3600 });
    await setManifests([manifest("one", "slow")]);
    await untilContents("east", { one: "slow" });
    await untilReady({ status: "False", reason: "Applying", message: "applied on 1 of 2 clusters" });
    expect(await contents("west")).toEqual({ one: "new", three: "3" });

    world.spoke("east").link.set("refusing");
    await eventually(async () =>
      expect(await conditionOf(world.hub, "east", "Reachable")).toMatchObject({ status: "False" }),
    );
    await change({ soakSeconds: 0 });
    await untilContents("west", { one: "slow" });
    world.spoke("east").link.set("open");
    await untilReady({ status: "True" });
  });

  test("hold a cluster that joins as they hold the others: after a refusal, and for the soak", async () => {
    const only = (cluster: string | null): object => ({ matchLabels: { "cupola.dev/cluster": cluster } });
    const { client } = world.spoke("west");
    await change({ clusters: only("west"), soakSeconds: 3600 });
    await untilReady({ message: "applied on west" });
    await client.create(ConfigMap, { metadata: { namespace: "base", name: "two" }, data: { text: "theirs" } });
    await setManifests([manifest("one", "held"), manifest("two", "held")]);
    await untilReady({ reason: "NotApplied" });
    await change({ clusters: only(null) });
    await untilReady({ message: expect.stringContaining("applied on 0 of 2 clusters; west: ") as string });
    expect(await contents("east")).toEqual({ one: "slow" });

    await client.delete(ConfigMap, { namespace: "base", name: "two" });
    await change({ values: { UNUSED: "z" } });
    await untilContents("west", { one: "held", two: "held" });
    await untilReady({ reason: "Applying", message: "applied on 1 of 2 clusters" });
    await replica.idle();
    expect(await contents("east")).toEqual({ one: "slow" });
    await setManifests([manifest("one", "slow")]);
    await change({ soakSeconds: 0 });
    await untilContents("west", { one: "slow" });
    await untilReady({ status: "True" });
  });

  test("stay on a cluster that loses the labels, unless they are to go; and go with the bundle", async () => {
    await change({ clusters: { matchLabels: { "cupola.dev/cluster": "east" } } });
    await untilReady({ message: "applied on east" });
    expect(await contents("west")).toEqual({ one: "slow" });
    await change({ clusters: { matchLabels: { "cupola.dev/cluster": null } } });
    await untilReady({ message: "applied on east, west" });

    await change({ deletion: "Delete", clusters: { matchLabels: { "cupola.dev/cluster": "west" } } });
    await untilContents("east", {});
    await eventually(async () =>
      expect((await world.hub.get(ClusterBundle, KEY)).metadata.finalizers).toContain("cupola.dev/bundle"),
    );
    world.spoke("west").link.set("refusing");
    await eventually(async () =>
      expect(await conditionOf(world.hub, "west", "Reachable")).toMatchObject({ status: "False" }),
    );
    await world.hub.delete(ClusterBundle, KEY);
    await untilReady({ status: "False", reason: "Deleting" });
    expect(await contents("west")).toEqual({ one: "slow" });
    await world.hub.delete(Cluster, { namespace: SYSTEM_NAMESPACE, name: "west" });
    await eventually(async () => expect(await world.hub.find(ClusterBundle, KEY)).toBeUndefined());
  });
});
