// The removal of unused content on a hub with a spoke: a droplet that only the spoke runs stays, and nothing goes while the spoke is not reached.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createDirectoryStore } from "../../../blobs/directory/directory-store.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Namespace } from "../../../kube/api/builtin.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import { BLOB_REFERRERS, removeUnusedBlobs } from "../../../platform/operations/blob-removal.ts";
import { startClusters } from "../../../platform/operations/clusters.ts";
import { startWorld } from "../../clusters/world.ts";
import { eventually } from "../../eventually.ts";

const DAY_MS = 24 * 60 * 60_000;
const KEY = { namespace: "acme-dev", name: "shop-web-k3x9q" };
const log = pino({ level: "silent" });

const lrpOf = (digest: string) => ({
  metadata: KEY,
  spec: {
    class: "runner",
    rendering: "1",
    app: { guid: "shop-guid", name: "shop" },
    space: { guid: "dev-guid", name: "dev" },
    org: { guid: "acme-guid", name: "acme" },
    processGUID: "shop-guid",
    processType: "web",
    revision: "1",
    version: "1",
    droplet: { guid: "droplet-guid", kind: "host", content: { digest, size: 7 } },
    ports: [8080],
    healthCheck: { type: "port" },
    readinessHealthCheck: { type: "process" },
    instances: 1,
    memoryMB: 64,
    diskMB: 64,
  },
});

test("a droplet that only another cluster runs stays; nothing goes while that cluster is not reached", async () => {
  await using ends = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "cupola-elsewhere-"));
  ends.defer(() => rmSync(folder, { recursive: true, force: true }));
  const blobs = await createDirectoryStore(folder);
  const put = (text: string) =>
    blobs.put("dev-guid", "droplet", Readable.from([Buffer.from(text)]), { maxBytes: 1000 });
  const [running, unused] = [await put("running"), await put("unused")];

  const world = await startWorld({ spokes: ["west"] });
  ends.defer(() => world.stop());
  const { client: spoke, link } = world.spoke("west");
  await spoke.create(Namespace, { metadata: { name: KEY.namespace } });
  await spoke.create(LRP, lrpOf(running.digest));

  const client = world.connect();
  ends.defer(() => client.close());
  const informers = createInformers({ client, log });
  ends.defer(() => informers.close());
  const kinds: readonly ResourceRef[] = BLOB_REFERRERS;
  for (const kind of kinds) informers.ensure(kind);
  const timing = {
    attemptMs: 5_000,
    retry: { minMs: 100, maxMs: 500, jitter: 0.5 },
    probeMs: 200,
    probeDeadlineMs: 2_000,
  };
  const { provider } = startClusters({ client, informers, log, disposables: ends, timing });
  const look = (): Promise<number> =>
    removeUnusedBlobs({ blobs, read: informers.read, clusters: provider, now: Date.now() + 2 * DAY_MS });
  const has = async (): Promise<boolean[]> =>
    Promise.all([running, unused].map(({ digest }) => blobs.has("dev-guid", digest)));
  const isEngaged = async (is: boolean): Promise<void> =>
    eventually(async () => expect(provider.find("west") !== undefined).toBe(is));

  await isEngaged(true);
  link.set("refusing");
  await isEngaged(false);
  await eventually(async () => expect(look()).rejects.toThrow("cluster west cannot be read"));
  expect(await has()).toEqual([true, true]);

  link.set("open");
  await isEngaged(true);
  expect(await look()).toBe(1);
  expect(await has()).toEqual([true, false]);

  await spoke.delete(LRP, KEY);
  expect(await look()).toBe(1);
  expect(await has()).toEqual([false, false]);
});
