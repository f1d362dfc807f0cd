// The keyring of a router: an unknown key is looked for, and whoever makes keys up causes few requests.
import { expect, test, vi } from "vitest";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createKeyring } from "./route-service-key.ts";
import { aKey } from "./testing/keyrings.ts";

test("a refresh finds what others have made; many that come together read once or twice", async () => {
  const toData = (bytes: Uint8Array): string =>
    Buffer.from(Buffer.from(bytes).toString("base64url")).toString("base64");
  const [first, second] = [aKey(), aKey()];
  let data: Record<string, string> = { current: toData(first.bytes) };
  let reads = 0;
  const client = { find: () => (reads++, Promise.resolve({ data })) } as unknown as KubeClient;
  const keyring = createKeyring(client, 20);
  await vi.waitFor(() => expect(keyring.keys()?.current.id).toBe(first.id));
  data = { current: toData(second.bytes), previous: toData(first.bytes) };
  const before = reads;
  await Promise.all(Array.from({ length: 100 }, () => keyring.refresh()));
  expect(keyring.keys()).toMatchObject({ current: { id: second.id }, previous: { id: first.id } });
  expect(reads - before).toBe(1);
});
