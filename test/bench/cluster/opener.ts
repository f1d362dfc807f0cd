// Cost of the opener of gates itself: pods appear on an API server that costs nothing, and each gate's request is timed from the pod's line on the watch.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { LABELS } from "../../../crds/labels.ts";
import { INDEX_GATE } from "../../../crds/lrp/index-gate.ts";
import { lrpSpec } from "../../../crds/testing/objects.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { startChild } from "../child-process.ts";
import { type Figure, figure } from "../figure.ts";
import { until } from "../until.ts";

const PODS = 1000;
/** 500 pods a second: kube-controller-manager makes 20 unless its own limit is raised. */
const BATCH = 5;
const BATCH_MS = 10;
/** Time of a patch, as a server that is not busy takes. */
const ANSWER_MS = 10;
const NAMESPACE = "gates";

export async function measureOpener(): Promise<Figure[]> {
  const many = await measureOnce({ lrps: 100, instances: 10 });
  const one = await measureOnce({ lrps: 1, instances: PODS });
  return [
    figure("gates: the opener alone, of a thousand pods in 2 s, ten of each LRP", many.p99, "ms", { max: 200 }),
    figure("gates: the opener alone, of a thousand pods in 2 s, all of one LRP", one.p99, "ms", { max: 200 }),
    figure("processor time of the opener for each gate, ten of each LRP", many.cpu, "ms"),
    figure("processor time of the opener for each gate, all of one LRP", one.cpu, "ms"),
  ];
}

async function measureOnce(crowd: { lrps: number; instances: number }): Promise<{ p99: number; cpu: number }> {
  const server = new FakeServer(crowd);
  const child = startChild(join(import.meta.dirname, "opener-process.ts"), { url: await server.listen() });
  try {
    await child.request("synced");
    // Code that has run once is fast.
    await server.addPods("warm", 1);
    await server.addPods("warm-too", 1);
    const before = await child.request<number>("cpu");
    const delays = await server.addPods("pod", crowd.instances - 2);
    const cpu = ((await child.request<number>("cpu")) - before) / 1000 / delays.length;
    return { p99: delays[Math.ceil(delays.length * 0.99) - 1] ?? NaN, cpu };
  } finally {
    await child.stop();
    server.close();
  }
}

/** LRPs and pods; a patch of a pod opens its gate. */
class FakeServer {
  readonly #lrps: string[];
  readonly #instances: number;
  readonly #pods = new Map<string, { made: number; name: string; lrp: string }>();
  readonly #delays: number[] = [];
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  #watch: ServerResponse | undefined;
  #version = 1;

  constructor({ lrps, instances }: { lrps: number; instances: number }) {
    this.#lrps = Array.from({ length: lrps }, (_, at) => `lrp-${at}`);
    this.#instances = instances;
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** So many pods of each LRP. Milliseconds until each one's patch arrived, sorted. */
  async addPods(prefix: string, ofEach: number): Promise<number[]> {
    await until(() => Promise.resolve(this.#watch !== undefined), "nobody watches", 5);
    this.#delays.length = 0;
    const pods = this.#lrps.flatMap((lrp) =>
      Array.from({ length: ofEach }, (_, at) => ({ lrp, name: `${lrp}-${prefix}-${at}` })),
    );
    for (let from = 0; from < pods.length; from += BATCH) {
      for (const { lrp, name } of pods.slice(from, from + BATCH)) {
        this.#pods.set(name, { made: performance.now(), name, lrp });
        this.#send("ADDED", this.#toPod(name, lrp, true));
      }
      await delay(BATCH_MS);
    }
    await until(() => Promise.resolve(this.#delays.length >= pods.length), "the gates do not open", 5);
    return this.#delays.toSorted((a, b) => a - b);
  }

  #send(type: string, object: KubeObject): void {
    this.#watch?.write(`${JSON.stringify({ type, object })}\n`);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://x");
    const isPods = pathname.endsWith("/pods");
    request.resume();
    if (request.method === "PATCH") return this.#open(pathname.split("/").at(-1) ?? "", response);
    if (!isPods && !pathname.endsWith("/lrps")) return void response.writeHead(404).end("{}");
    if (searchParams.get("watch")) {
      if (isPods) this.#watch = response;
      return void response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
    }
    const items = isPods ? [] : this.#lrps.map((name) => this.#toLRP(name));
    await delay(0);
    response.end(JSON.stringify({ metadata: { resourceVersion: "1" }, items }));
  }

  async #open(name: string, response: ServerResponse): Promise<void> {
    const pod = this.#pods.get(name);
    if (!pod) return void response.writeHead(404).end("{}");
    this.#delays.push(performance.now() - pod.made);
    await delay(ANSWER_MS);
    const opened = this.#toPod(name, pod.lrp, false);
    response.end(JSON.stringify(opened));
    this.#send("MODIFIED", opened);
    // The scheduler binds it.
    this.#send("MODIFIED", this.#toPod(name, pod.lrp, false));
  }

  #toLRP(name: string): KubeObject {
    const metadata = { name, namespace: NAMESPACE, uid: `uid-${name}`, resourceVersion: "1" };
    const spec = lrpSpec({ instances: this.#instances });
    return { apiVersion: "workloads.cupola.dev/v1alpha1", kind: "LRP", metadata, spec } as KubeObject;
  }

  /** As large as a real one. */
  #toPod(name: string, lrp: string, gated: boolean): KubeObject {
    const labels = { [LABELS.lrp]: lrp, ...(!gated && { [LABELS.instanceIndex]: "0" }) };
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name,
        namespace: NAMESPACE,
        uid: `uid-${name}`,
        resourceVersion: String(++this.#version),
        creationTimestamp: "2026-01-01T00:00:00Z",
        labels,
        annotations: { about: "x".repeat(500) },
        managedFields: [
          { manager: "x", fieldsV1: Object.fromEntries(Array.from({ length: 80 }, (_, at) => [`f:field-${at}`, {}])) },
        ],
      },
      spec: {
        ...(gated && { schedulingGates: [{ name: INDEX_GATE }] }),
        containers: [
          {
            name: "application",
            image: "x",
            env: Array.from({ length: 30 }, (_, at) => ({ name: `V${at}`, value: "x".repeat(40) })),
          },
        ],
      },
      status: { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }] },
    } as KubeObject;
  }
}
