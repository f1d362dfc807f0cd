// The tokens for the logs of clusters.
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { startClusters } from "./clusters.ts";

const encode = (text: string): string => Buffer.from(text).toString("base64");

test("a token that arrives after its cluster is told once, and so is its end", async () => {
  await using disposables = new AsyncDisposableStack();
  const data: Record<string, string> = { token: encode("t"), "ca.crt": encode("") };
  const spec = { server: "https://127.0.0.1:1", credentialsRef: { name: "cluster-west" } };
  let weight = 1;
  let changeSpec = (): void => undefined;
  const store = {
    synced: true,
    list: () => [makeObject(Cluster, "west", { spec: { ...spec, weight } })],
    find: () => undefined,
    onChange(listener: () => void) {
      changeSpec = () => {
        weight += 1;
        listener();
      };
      return () => undefined;
    },
    onStateChange: () => () => undefined,
  };
  let reads = 0;
  const client = {
    find: ({ kind }: { kind: string }) => {
      if (kind === "Secret") reads += 1;
      return Promise.resolve({ metadata: { uid: "u" }, data: { hubID: encode("h"), id: encode("h"), ...data } });
    },
    get: () => Promise.resolve({ metadata: { uid: "hub" } }),
  } as unknown as KubeClient;
  const clusters = startClusters({
    client,
    informers: { ensure: () => ({ store, release: () => undefined }) } as unknown as Informers,
    log: pino({ level: "silent" }),
    disposables,
  });
  const told: string[] = [];
  clusters.onTelemetryChange(() =>
    told.push(
      clusters
        .listTelemetry()
        .map(({ token }) => token)
        .join(),
    ),
  );
  const readAgain = async (): Promise<void> => {
    const before = reads;
    changeSpec();
    await vi.waitFor(() => expect(reads).toBeGreaterThan(before));
    await new Promise(setImmediate);
  };
  await vi.waitFor(() => expect(clusters.provider.states()).toHaveProperty("west"));
  expect(told).toEqual([]);
  data["telemetry-token"] = encode("logs");
  await readAgain();
  await readAgain();
  expect(told).toEqual(["logs"]);
  delete data["telemetry-token"];
  await readAgain();
  expect(told).toEqual(["logs", ""]);
});
