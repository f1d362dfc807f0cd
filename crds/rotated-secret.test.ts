// Values that an operator rotates: one current value for all replicas, and the previous one beside it.
import { expect, test } from "vitest";
import type { KubeClient } from "../kube/client/client.ts";
import { KubeError } from "../kube/client/errors.ts";
import { RotatedSecret } from "./rotated-secret.ts";

interface StoredSecret {
  metadata: { resourceVersion: string };
  data: Record<string, string>;
}
interface Stored {
  secret?: StoredSecret | undefined;
}

/** The client of one replica; replicas share `stored`. */
function clientOf(stored: Stored): KubeClient {
  let version = 0;
  const store = ({ data }: StoredSecret): Promise<StoredSecret> =>
    Promise.resolve((stored.secret = { metadata: { resourceVersion: `${Math.random()}-${++version}` }, data }));
  return {
    find: () => Promise.resolve(stored.secret),
    create(_ref: unknown, draft: StoredSecret) {
      if (stored.secret) throw new KubeError({ code: 409, reason: "AlreadyExists" });
      return store(draft);
    },
    update(_ref: unknown, draft: StoredSecret) {
      if (draft.metadata.resourceVersion !== stored.secret?.metadata.resourceVersion)
        throw new KubeError({ code: 409, reason: "Conflict" });
      return store(draft);
    },
  } as unknown as KubeClient;
}

let made = 0;
const VALUES = new RotatedSecret<string>({
  secretName: "values",
  what: "values",
  create: () => `value-${++made}`,
  parse: (text) => (text.startsWith("value-") ? text : undefined),
});
const rotate = (stored: Stored): void =>
  void (stored.secret = { ...stored.secret!, data: { previous: stored.secret?.data["current"] ?? "" } });

test("replicas that start concurrently use one value", async () => {
  const stored: Stored = {};
  const [one, other] = await Promise.all([VALUES.get(clientOf(stored)), VALUES.get(clientOf(stored))]);
  expect(other).toEqual(one);
  expect(one?.previous).toBeUndefined();
});

test("a rotated value stays as the previous one, for every replica the same", async () => {
  const stored: Stored = {};
  const [one, other] = [clientOf(stored), clientOf(stored)];
  const { current: first } = await VALUES.get(one);
  await VALUES.get(other);
  rotate(stored);
  expect(await VALUES.get(one)).toEqual({ current: first });
  await Promise.all([VALUES.refresh(one), VALUES.refresh(other)]);
  const rotated = await VALUES.get(one);
  expect(rotated.previous).toBe(first);
  expect(rotated.current).not.toBe(first);
  expect(await VALUES.get(other)).toEqual(rotated);
});

test("a deleted Secret comes back as it was, and what is no value is named without it", async () => {
  const stored: Stored = {};
  const client = clientOf(stored);
  await VALUES.get(client);
  rotate(stored);
  await VALUES.refresh(client);
  const known = await VALUES.get(client);
  stored.secret = undefined;
  await VALUES.refresh(client);
  expect(await VALUES.get(client)).toEqual(known);
  stored.secret = { ...stored.secret!, data: { current: Buffer.from("secret words").toString("base64") } };
  const error = await VALUES.refresh(client).catch(String);
  expect(error).toContain("the Secret cupola-system/values holds no values: delete it");
  expect(error).not.toContain("secret words");
});
