// A runner for tests of the API: instances of every LRP run at once, or crash where a test says so.
import { setTimeout as delay } from "node:timers/promises";
import { LRP } from "../../../crds/lrp/lrp.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../../kube/client/errors.ts";

export interface FakeRunner {
  /** Instances of these versions crash: name of the app and version. */
  broken: Set<string>;
  /** While true, new instances stay Starting. */
  held: boolean;
  stop(): Promise<void>;
}

/** `client` has full rights on the cluster. LRPs are read every `pollMs` milliseconds. */
export function startFakeRunner(client: KubeClient, pollMs = 15): FakeRunner {
  const ending = new AbortController();
  const runner: FakeRunner = {
    broken: new Set(),
    held: false,
    async stop() {
      ending.abort();
      await loop;
    },
  };
  const loop = run(client, runner, { signal: ending.signal, pollMs });
  return runner;
}

async function run(
  client: KubeClient,
  runner: FakeRunner,
  { signal, pollMs }: { signal: AbortSignal; pollMs: number },
): Promise<void> {
  while (!signal.aborted) {
    for (const lrp of (await client.list(LRP)).items) await report(client, lrp, runner);
    await delay(pollMs);
  }
}

async function report(client: KubeClient, lrp: LRP, { broken, held }: FakeRunner): Promise<void> {
  const before = lrp.status?.instances ?? [];
  const isBroken = broken.has(`${lrp.spec.app.name} ${lrp.spec.revision}`);
  const instances = Array.from({ length: lrp.spec.instances }, (_, index) => {
    const known = before.find((one) => one.index === index && one.state === "Running");
    if (known && !isBroken) return known;
    const state = isBroken ? ("Crashed" as const) : held ? ("Starting" as const) : ("Running" as const);
    const since = new Date().toISOString();
    return { index, state, ready: state === "Running", since, ...(isBroken && { details: "exit status 7" }) };
  });
  const isSame =
    before.length === instances.length &&
    instances.every(({ index, state }) => before.some((one) => one.index === index && one.state === state));
  if (isSame && lrp.status !== undefined) return;
  const status = { ...lrp.status, instances, runningInstances: instances.filter(({ ready }) => ready).length };
  try {
    await client.updateStatus(LRP, { ...lrp, status });
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}
