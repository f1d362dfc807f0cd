// Children on another cluster than their owner's: marks without owner references, foreign objects untouched, and what is never pruned.
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConfigMap, Namespace, Secret } from "../../../kube/api/builtin.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { createClusterProvider, type ClusterProvider } from "../../../kube/cache/cluster-provider.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { isAlreadyExists } from "../../../kube/client/errors.ts";
import { defineController } from "../../../kube/controller/controller.ts";
import { runControllers, type ControllerRun } from "../../../kube/controller/run-controllers.ts";
import { CONTROLLER_SETTINGS, toRemoteMarkers } from "../../../platform/operations/controller-settings.ts";
import { eventually } from "../../eventually.ts";
import type { Server } from "../kubernetes/suite.ts";

type Data = KubeObject & { data?: Record<string, string> };

const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });
const HUB = "hub-1";
const FINALIZER = "example.org/clusters";
const namespace = "space";

/** `copies` of the owner's data: `cluster=text;cluster=text`. */
function readCopies(owner: KubeObject): Record<string, string> {
  const pairs = ((owner as Data).data?.["copies"] ?? "").split(";").filter(Boolean);
  return Object.fromEntries(pairs.map((pair) => pair.split("=") as [string, string]));
}

/** Keeps a copy of each ConfigMap `owner-*` on the clusters that it names, in a namespace that it ensures. */
const copier = defineController({
  name: "copier",
  for: ConfigMap,
  selects: ({ metadata }) => metadata.name.startsWith("owner-"),
  remote: {
    owns: [ConfigMap, Namespace],
    creates: [Secret],
    mapCluster: (_cluster, read) => read.list(ConfigMap).map((one) => one.metadata),
  },
  writesStatus: false,
  finalizer: FINALIZER,
  dropsFinalizer: true,
  needsFinalizer: (owner) => Object.keys(readCopies(owner)).length > 0,
  reconcile(owner, { clusters }) {
    const copies = readCopies(owner);
    const names = clusters.names();
    return {
      remote: {
        owner: owner.metadata.name,
        ensured: Object.fromEntries(
          Object.keys(copies).map((name) => {
            const isMade = (clusters.find(name)?.listOwned(ConfigMap, owner.metadata.name) ?? []).length > 0;
            return [name, [namespaceDraft(), ...(isMade ? [] : [secretDraft(owner)])]];
          }),
        ),
        children: Object.fromEntries(
          [...new Set([...names, ...Object.keys(copies)])].map((name) => [
            name,
            name in copies ? [draft(owner, copies[name])] : [],
          ]),
        ),
      },
    };
  },
  finalize(owner, { clusters }) {
    const left = clusters
      .names()
      .flatMap((name) => clusters.find(name)?.listOwned(ConfigMap, owner.metadata.name) ?? []);
    if (left.length === 0) return undefined;
    return {
      remote: { owner: owner.metadata.name, children: Object.fromEntries(clusters.names().map((name) => [name, []])) },
      ready: { status: "False", reason: "Stopping", message: "" },
    };
  },
});

const markers = toRemoteMarkers(HUB);

function namespaceDraft(): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: namespace,
      labels: { [markers.hubLabel]: HUB, [markers.ownerLabel]: "space-guid" },
      annotations: { [markers.ownerAnnotation]: "Space acme/space" },
    },
  };
}

/** Its name is a digest of its content elsewhere. */
function secretDraft(owner: KubeObject): KubeObject {
  const metadata = { namespace, name: `secret-of-${owner.metadata.name}` };
  return { apiVersion: "v1", kind: "Secret", metadata, immutable: true } as KubeObject;
}

function draft(owner: KubeObject, text = ""): KubeObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace, name: `copy-of-${owner.metadata.name}` },
    data: { text },
  } as KubeObject;
}

export function remoteChildrenTests(name: string, start: () => Promise<Server>): void {
  describe(`children on other clusters, ${name}`, () => {
    const ends: (() => Promise<unknown>)[] = [];
    let hub: KubeClient;
    let spokes: Record<"east" | "west", KubeClient>;
    let provider: ClusterProvider;
    let running: ControllerRun;

    beforeAll(async () => {
      const servers = await Promise.all([start(), start(), start()]);
      for (const server of servers) ends.push(() => server.stop());
      const [onHub, onEast, onWest] = servers as [Server, Server, Server];
      hub = connect(onHub);
      spokes = { east: connect(onEast), west: connect(onWest) };
      for (const client of [hub, spokes.east, spokes.west]) ends.push(() => client.close());
      await hub.create(Namespace, { metadata: { name: namespace } });
      provider = createClusterProvider({ log });
      ends.push(() => provider.close());
      const informers = createInformers({ client: hub, log, freeze: true });
      const stopping = new AbortController();
      running = runControllers({
        client: hub,
        controllers: [copier],
        informers,
        ownership: CONTROLLER_SETTINGS,
        remote: { provider, markers: () => markers },
        signal: stopping.signal,
        log,
      });
      ends.push(async () => {
        stopping.abort();
        await running.stopped;
        await informers.close();
      });
      await running.synced;
      provider.engage("east", { hash: "1", connect: () => takingSecretsAway(connect(onEast)) });
      provider.engage("west", { hash: "1", connect: () => connect(onWest) });
    });
    afterAll(async () => {
      for (const end of ends.splice(0).reverse()) await end();
    });

    /** Each Secret that is there already is deleted once, just after the hub has heard that it is there: as by an agent that found it unused. */
    const taken = new Set<string>();
    const takingSecretsAway = (client: KubeClient): KubeClient => ({
      ...client,
      create: (ref, object, options) =>
        client.create(ref, object, options).catch(async (error: unknown) => {
          const { name = "", namespace: at } = object.metadata;
          if (isAlreadyExists(error) && !taken.has(name)) {
            taken.add(name);
            await client.delete(ref, { name, ...(at && { namespace: at }) });
          }
          throw error;
        }),
    });

    const own = (owner: string, copies: string): Promise<unknown> =>
      hub.apply(
        ConfigMap,
        { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name: owner }, data: { copies } },
        { fieldManager: "person", force: true },
      );
    const find = (cluster: "east" | "west", owner: string): Promise<Data | undefined> =>
      spokes[cluster].find<Data>(ConfigMap, { namespace, name: `copy-of-${owner}` });
    const textOn = async (cluster: "east" | "west", owner: string): Promise<string | undefined> =>
      (await find(cluster, owner))?.data?.["text"];
    const finalizersOf = async (owner: string): Promise<string[]> =>
      (await hub.get(ConfigMap, { namespace, name: owner })).metadata.finalizers ?? [];

    test("each cluster gets its child, with our marks and without an owner reference, in a namespace that is ours", async () => {
      await own("owner-a", "east=1;west=2");
      await eventually(async () => {
        expect(await textOn("east", "owner-a")).toBe("1");
        expect(await textOn("west", "owner-a")).toBe("2");
      });
      const child = await find("east", "owner-a");
      expect(child?.metadata.ownerReferences).toBeUndefined();
      expect(child?.metadata.labels).toEqual({ [markers.hubLabel]: HUB, [markers.ownerLabel]: "owner-a" });
      expect(child?.metadata.annotations).toMatchObject({
        [markers.ownerAnnotation]: `ConfigMap ${namespace}/owner-a`,
      });
      expect(child?.metadata.managedFields?.map(({ manager }) => manager)).toEqual([markers.fieldManager]);
      expect(await finalizersOf("owner-a")).toEqual([FINALIZER]);
    });

    test("a child that a person changes is repaired, and one that left the result goes, on its cluster alone", async () => {
      const key = { namespace, name: "copy-of-owner-a" };
      await spokes.east.patch(ConfigMap, key, { type: "merge", body: { data: { text: "changed" } } });
      await eventually(async () => expect(await textOn("east", "owner-a")).toBe("1"));
      await own("owner-a", "east=1");
      await eventually(async () => expect(await find("west", "owner-a")).toBeUndefined());
      expect(await textOn("east", "owner-a")).toBe("1");
    });

    test("an owner without children elsewhere has no finalizer any more", async () => {
      await own("owner-a", "");
      await eventually(async () => expect(await finalizersOf("owner-a")).toEqual([]));
      await eventually(async () => expect(await find("east", "owner-a")).toBeUndefined());
    });

    test("an object that is not ours stays as it is, until its label hands it over", async () => {
      const foreign = { ...draft({ metadata: { name: "owner-b" } } as KubeObject, "foreign") };
      await spokes.east.create(ConfigMap, foreign);
      await own("owner-b", "east=ours;west=ours");
      await eventually(async () => expect(await textOn("west", "owner-b")).toBe("ours"));
      await running.idle();
      const kept = await find("east", "owner-b");
      expect([kept?.data?.["text"], kept?.metadata.labels]).toEqual(["foreign", undefined]);
      const label = { metadata: { labels: { [markers.adoptableLabel]: HUB } } };
      await spokes.east.patch(ConfigMap, foreign.metadata, { type: "merge", body: label });
      await own("owner-b", "east=taken;west=ours");
      await eventually(async () => expect(await textOn("east", "owner-b")).toBe("taken"));
    });

    test("an owner that goes waits until its children have gone", async () => {
      await hub.delete(ConfigMap, { namespace, name: "owner-b" });
      await eventually(async () => expect(await hub.find(ConfigMap, { namespace, name: "owner-b" })).toBeUndefined());
      expect([await find("east", "owner-b"), await find("west", "owner-b")]).toEqual([undefined, undefined]);
    });

    test("a child whose owner the hub never had is kept: nobody told to delete it", async () => {
      const orphan = draft({ metadata: { name: "owner-lost" } } as KubeObject, "kept");
      orphan.metadata.labels = { [markers.hubLabel]: HUB, [markers.ownerLabel]: "owner-lost" };
      orphan.metadata.annotations = { [markers.ownerAnnotation]: `ConfigMap ${namespace}/owner-lost` };
      await spokes.east.create(ConfigMap, orphan);
      await own("owner-c", "east=1");
      await eventually(async () => expect(await textOn("east", "owner-c")).toBe("1"));
      await running.idle();
      expect(await textOn("east", "owner-lost")).toBe("kept");
    });

    test("a Secret that goes while its user comes is there when the user is", async () => {
      const secret = secretDraft({ metadata: { name: "owner-s" } } as KubeObject);
      await spokes.east.create(Secret, secret);
      await own("owner-s", "east=1");
      await eventually(async () => expect(await textOn("east", "owner-s")).toBe("1"));
      await running.idle();
      expect([...taken]).toContain(secret.metadata.name);
      expect(await spokes.east.find(Secret, secret.metadata)).toMatchObject({ immutable: true });
    });

    test("a cluster that is disengaged keeps its children, and catches up when it is engaged again", async () => {
      await provider.disengage("west");
      await own("owner-d", "east=1;west=1");
      await eventually(async () => expect(await textOn("east", "owner-d")).toBe("1"));
      await running.idle();
      expect(await find("west", "owner-d")).toBeUndefined();
      provider.engage("west", {
        hash: "2",
        connect: () => createClient({ ...accessOf(spokes.west), fieldManager: "x" }),
      });
      await eventually(async () => expect(await textOn("west", "owner-d")).toBe("1"));
    });

    const access = new Map<KubeClient, Parameters<typeof createClient>[0]>();
    function connect(server: Server): KubeClient {
      const options = { server: server.url, ca: server.ca, auth: { kind: "token", token: server.adminToken } as const };
      const client = createClient({ ...options, fieldManager: "person" });
      access.set(client, options);
      return client;
    }
    const accessOf = (client: KubeClient): Parameters<typeof createClient>[0] => access.get(client)!;
  });
}
