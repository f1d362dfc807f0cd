// A key of the installation: one, whichever replica creates it, and the same after its Secret was deleted.
import { expect, test } from "vitest";
import type { KubeClient } from "../kube/client/client.ts";
import { KubeError } from "../kube/client/errors.ts";
import { InstallationKey } from "./installation-key.ts";

const KEY = new InstallationKey("a-key");

interface Stored {
  secret?: { data: { key: string } } | undefined;
  finds: number;
}

/** The client of one replica; replicas share `stored`. */
function clientOf(stored: Stored): KubeClient {
  return {
    find() {
      stored.finds += 1;
      return Promise.resolve(stored.secret);
    },
    get: () => Promise.resolve(stored.secret),
    create(_ref: unknown, draft: { data: { key: string } }) {
      if (stored.secret) throw new KubeError({ code: 409, reason: "AlreadyExists" });
      return Promise.resolve((stored.secret = draft));
    },
  } as unknown as KubeClient;
}

test("replicas use the same key, and each reads it once", async () => {
  const stored: Stored = { finds: 0 };
  const first = clientOf(stored);
  const second = clientOf(stored);
  const keys = [await KEY.get(first), await KEY.get(second), await KEY.get(first)];
  expect(keys[0]).toHaveLength(32);
  expect(keys[1]).toEqual(keys[0]);
  expect(keys[2]).toBe(keys[0]);
  expect(stored.finds).toBe(2);
});

test("two replicas that create the key concurrently use the same one", async () => {
  const stored: Stored = { finds: 0 };
  // The key does not exist yet when the second replica reads it.
  const slow = { find: () => Promise.resolve(undefined) };
  const [one, other] = await Promise.all([
    KEY.get(clientOf(stored)),
    KEY.get({ ...clientOf(stored), ...slow } as unknown as KubeClient),
  ]);
  expect(other).toEqual(one);
});

test("a Secret without a key is an error that names the Secret, and the next request reads it again", async () => {
  const stored: Stored = { finds: 0, secret: { data: { key: "" } } };
  const client = clientOf(stored);
  await expect(KEY.get(client)).rejects.toThrow("cupola-system/a-key");
  stored.secret = { data: { key: Buffer.alloc(32).toString("base64") } };
  expect(await KEY.get(client)).toHaveLength(32);
});

test("a Secret that was deleted comes back with the same key", async () => {
  const stored: Stored = { finds: 0 };
  const client = clientOf(stored);
  const key = await KEY.get(client);
  stored.secret = undefined;
  await KEY.refresh(client);
  expect(await KEY.get(clientOf(stored))).toEqual(key);
});

test("a key that another replica has made meanwhile is used from now on", async () => {
  const stored: Stored = { finds: 0 };
  const client = clientOf(stored);
  await KEY.get(client);
  stored.secret = { data: { key: Buffer.alloc(32, 7).toString("base64") } };
  await KEY.refresh(client);
  expect([...(await KEY.get(client))]).toEqual([...Buffer.alloc(32, 7)]);
});

test("a value that is no key is an error, and the known key stays in use", async () => {
  const stored: Stored = { finds: 0 };
  const client = clientOf(stored);
  const key = await KEY.get(client);
  stored.secret = { data: { key: "" } };
  await expect(KEY.refresh(client)).rejects.toThrow("delete it, and it is made again");
  expect(await KEY.get(client)).toBe(key);
});
