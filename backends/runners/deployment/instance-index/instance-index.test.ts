// Pods of one LRP that appear together: each gets its index once, and the LRP's pods are not read again for each of them.
import pino from "pino";
import { expect, test, vi } from "vitest";
import { LABELS, STABLE_LABELS } from "../../../../crds/labels.ts";
import { INDEX_GATE } from "../../../../crds/lrp/index-gate.ts";
import { LRP } from "../../../../crds/lrp/lrp.ts";
import { lrpSpec, makeObject } from "../../../../crds/testing/objects.ts";
import type { KubeObject } from "../../../../kube/api/object.ts";
import { Pod } from "../../../../kube/api/builtin.ts";
import type { ResourceRef } from "../../../../kube/api/resource-ref.ts";
import type { Informers } from "../../../../kube/cache/informers.ts";
import type { ListFilter } from "../../../../kube/cache/reader.ts";
import { WritableStore } from "../../../../kube/cache/store.ts";
import type { KubeClient, Patch, WriteOptions } from "../../../../kube/client/client.ts";
import { KubeError } from "../../../../kube/client/errors.ts";
import type { ReconcileContext } from "../../../../kube/controller/controller.ts";
import { runControllers } from "../../../../kube/controller/run-controllers.ts";
import { slimPod, type PodObject } from "../../../pods/slim-pod.ts";
import { createInstanceIndex } from "./instance-index.ts";

const INSTANCES = 500;
const NAMESPACE = "acme-dev";

function aPod(name: string, version: number, index?: string): PodObject {
  const labels = { [LABELS.lrp]: "shop", ...(index !== undefined && { [STABLE_LABELS.instanceIndex]: index }) };
  const creationTimestamp = "2026-01-01T00:00:00Z";
  return slimPod({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: NAMESPACE, uid: name, labels, creationTimestamp, resourceVersion: String(version) },
    spec: { containers: [], ...(index === undefined && { schedulingGates: [{ name: INDEX_GATE }] }) },
  });
}

test(`${INSTANCES} pods of one LRP`, async () => {
  const onFault = (error: unknown): void => expect.fail(String(error));
  const pods = new WritableStore<PodObject>(Pod, { onFault });
  const lrps = new WritableStore<LRP>(LRP, { onFault });
  const given: string[] = [];
  let podsRead = 0;
  let version = 1;
  const patch = (_ref: ResourceRef, { name }: { name: string }, { body }: Patch): Promise<KubeObject> => {
    const steps = body as unknown as { path: string; value?: string }[];
    const index = steps.find(({ path }) => path.startsWith("/metadata/labels/"))?.value ?? "";
    given.push(index);
    const opened = aPod(name, ++version, index);
    pods.upsert(opened);
    return Promise.resolve(opened);
  };
  const read = {
    list: (_ref: ResourceRef, filter: ListFilter) => {
      const found = pods.list(filter);
      podsRead += found.length;
      return found;
    },
  };
  const ensure = (ref: ResourceRef) => ({
    store: ref.kind === Pod.kind ? pods : lrps,
    fieldsKept: Promise.resolve(),
    freshAsOf: () => 0,
    release: () => undefined,
  });
  const stopping = new AbortController();
  const client = { patch } as unknown as KubeClient;
  const run = runControllers({
    client,
    controllers: createInstanceIndex(client).controllers,
    informers: { ensure, readPreferring: () => read } as unknown as Informers,
    ownership: { fieldManagerPrefix: "t", ownerLabel: "o", controllerLabel: "c", ownerAnnotation: "a" },
    signal: stopping.signal,
    log: pino({ level: "silent" }),
  });
  lrps.setState("watching");
  pods.setState("watching");
  const lrp = makeObject(LRP, "shop", { spec: lrpSpec({ instances: INSTANCES }), metadata: { resourceVersion: "1" } });
  lrps.replace([lrp], "1");
  pods.replace([], "1");
  await run.synced;
  for (let at = 0; at < INSTANCES; at++) {
    pods.upsert(aPod(`shop-${at}`, ++version));
    // As the lines of a watch: other work goes on between two of them.
    for (let step = 0; step < 20; step++) await Promise.resolve();
  }
  await vi.waitUntil(() => given.length >= INSTANCES, { timeout: 20_000 });
  await run.idle();
  expect(new Set(given)).toEqual(new Set(Array.from({ length: INSTANCES }, (_, index) => String(index))));
  expect(given).toHaveLength(INSTANCES);
  expect(podsRead).toBeLessThan(20 * INSTANCES);
  stopping.abort();
  await run.stopped;
});

test("a request has long enough for a busy API server, and the end of a term waits for it only for seconds", async () => {
  const sent: WriteOptions[] = [];
  const patch = (_ref: ResourceRef, _key: object, _patch: Patch, options: WriteOptions): Promise<KubeObject> => {
    sent.push(options);
    return new Promise((_resolve, reject) =>
      options.signal?.addEventListener("abort", () => reject(new KubeError({ code: 0, reason: "Aborted" }))),
    );
  };
  const client = { patch } as unknown as KubeClient;
  const work = createInstanceIndex(client);
  const lrp = makeObject(LRP, "shop", { spec: lrpSpec({ instances: 1 }) });
  await work.controllers[0]?.reconcile(lrp, {
    read: { list: () => [aPod("shop-0", 1)] },
    client,
    now: () => new Date(),
    log: pino({ level: "silent" }),
  } as unknown as ReconcileContext);
  expect(sent.map(({ deadlineMs = 0, signal }) => [deadlineMs >= 10_000, signal?.aborted])).toEqual([[true, false]]);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const stopped = work.stop();
    await vi.advanceTimersByTimeAsync(5_000);
    await stopped;
  } finally {
    vi.useRealTimers();
  }
  expect(sent[0]?.signal?.aborted).toBe(true);
});
