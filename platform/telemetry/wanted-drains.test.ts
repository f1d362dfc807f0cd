// Where a drain may connect to: anywhere only as the platform's broker said.
import { expect, test } from "vitest";
import { toBindingData } from "../../crds/service-binding/binding-secret.ts";
import type { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { readDrain } from "./wanted-drains.ts";

const INSIDE = "10.0.0.7";
const read = { find: () => undefined, list: () => [] } as unknown as Reader;

/** A binding of a platform's broker, whose Secret has this drain. */
async function connects(syslogDrainAddress: string | undefined, inSecret: string): Promise<boolean> {
  const binding = {
    metadata: { namespace: "acme-dev", name: "b", uid: "B", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { type: "app", instanceRef: { name: "i" } },
    status: {
      binding: { name: "b-binding" },
      provided: { brokerRef: { namespace: "cupola-system", name: "broker" } },
      syslogDrainAddress,
    },
  } as unknown as ServiceBinding;
  const instance = {
    metadata: { namespace: "acme-dev", name: "i", uid: "I" },
    spec: { type: "managed" },
  } as unknown as ServiceInstance;
  const data = toBindingData({ credentials: {}, syslogDrainURL: inSecret }, "logs");
  const secret = { metadata: { labels: { "cupola.dev/service-binding-guid": "B" } }, data };
  const client = { find: () => Promise.resolve(secret) } as unknown as Parameters<typeof readDrain>[1]["client"];
  const app = { guid: "A", name: "shop", space: "dev", org: "acme" };
  const drain = await readDrain({ binding, instance, app }, { read, client });
  if (!drain || !("network" in drain)) throw new Error("no drain was read");
  return drain.network.mayConnect(INSIDE);
}

test.each([
  ["as the broker said", `${INSIDE}:514`, `syslog://${INSIDE}:514`, true],
  ["another host in the Secret", "logs.example.com:514", `syslog://${INSIDE}:514`, false],
  ["another port in the Secret", `${INSIDE}:514`, `syslog://${INSIDE}:22`, false],
  ["a binding from before", undefined, `syslog://${INSIDE}:514`, false],
])("%s", async (_what, told, inSecret, may) => {
  expect(await connects(told, inSecret)).toBe(may);
});
