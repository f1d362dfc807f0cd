// Reads of a kind that a process watches with several restrictions.
import { pino } from "pino";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../client/create-client.ts";
import type { KubeObject } from "../api/object.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import { startFakeCollection } from "../testing/fake-collection.ts";
import { NotWatched } from "./errors.ts";
import { createInformers } from "./informers.ts";

const Thing: ResourceRef<KubeObject> = {
  group: "test",
  version: "v1",
  kind: "Thing",
  plural: "things",
  namespaced: true,
};
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

test("a controller reads from its own watch, and from the watch without restrictions where there is one", async () => {
  const collection = await startFakeCollection();
  ends.push(() => collection.close());
  collection.put("a");
  const client = createClient({ server: collection.url });
  ends.push(() => client.close());
  const informers = createInformers({ client, log: pino({ level: "silent" }) });
  ends.push(() => informers.close());
  const transform = (thing: KubeObject): KubeObject => ({ ...thing, from: "mine" });
  const own = informers.ensure(Thing, { labelSelector: "mine", transform }).store;
  const read = informers.readPreferring([own]);
  informers.ensure(Thing, { labelSelector: "yours" });
  expect(await informers.waitSynced(5_000)).toBe(true);
  expect(() => informers.read.list(Thing)).toThrow(NotWatched);
  expect(read.list(Thing)).toMatchObject([{ from: "mine" }]);
  const whole = informers.ensure(Thing).store;
  expect(await whole.waitSynced(5_000)).toBe(true);
  expect(read.list(Thing)[0]).not.toHaveProperty("from");
});
