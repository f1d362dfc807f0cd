// The key of job GUIDs: one per installation, whichever replica creates it.
import { expect, test } from "vitest";
import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/errors.ts";
import { getJobKey } from "./job-key.ts";

interface Stored {
  secret?: { data: { key: string } };
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
  const keys = [await getJobKey(first), await getJobKey(second), await getJobKey(first)];
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
    getJobKey(clientOf(stored)),
    getJobKey({ ...clientOf(stored), ...slow } as unknown as KubeClient),
  ]);
  expect(other).toEqual(one);
});

test("a Secret without a key is an error that names the Secret, and the next request reads it again", async () => {
  const stored: Stored = { finds: 0, secret: { data: { key: "" } } };
  const client = clientOf(stored);
  await expect(getJobKey(client)).rejects.toThrow("cupola-system/cupola-job-key");
  stored.secret = { data: { key: Buffer.alloc(32).toString("base64") } };
  expect(await getJobKey(client)).toHaveLength(32);
});
