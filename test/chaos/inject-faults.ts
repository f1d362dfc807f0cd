// Brings a run's faults about at their times, and makes sure that all are over at the end.
import { setTimeout as delay } from "node:timers/promises";
import { listManifests } from "../../crds/manifests.ts";
import { PLATFORM_GROUP } from "../../crds/platform-role.ts";
import { ClusterRoleBinding, RoleBinding } from "../../kube/api/builtin.ts";
import { isNotFound } from "../../kube/client/errors.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { applyObjects } from "../../platform/install.ts";
import { randomFrom } from "../random.ts";
import { retryUntilAcknowledged } from "./retry.ts";
import type { Fault } from "./faults.ts";
import type { Schedule } from "./schedule.ts";
import type { ChaosEnv } from "./test-env.ts";

/** The bindings by which the platform has its rights. */
function platformBindings(): KubeObject[] {
  const objects = listManifests().flatMap((manifest) => manifest.objects);
  return objects.filter(
    (object) => object.kind === ClusterRoleBinding.kind && JSON.stringify(object).includes(`"${PLATFORM_GROUP}"`),
  );
}

/** Resolves when the last fault is over and everything that was taken away is there again. `developer`: the bindings of the developer. */
export async function injectFaults(
  chaosEnv: ChaosEnv,
  { faults, seed, lengthMs }: Schedule,
  developer: () => readonly KubeObject[],
): Promise<void> {
  const random = randomFrom(seed ^ 0x5eed);
  const start = performance.now();
  const until = (atMs: number): Promise<void> => delay(Math.max(0, start + atMs - performance.now()));
  await Promise.all(
    faults.map(async (fault) => {
      await until(fault.atMs);
      await injectFault(chaosEnv, fault, { random, developer });
    }),
  );
  await until(lengthMs);
  chaosEnv.proxy.setRates(undefined);
  chaosEnv.proxy.repair();
  await chaosEnv.replicas.startAll();
}

interface FaultContext {
  random: () => number;
  developer: () => readonly KubeObject[];
}

async function injectFault(chaosEnv: ChaosEnv, fault: Fault, { random, developer }: FaultContext): Promise<void> {
  const { proxy, replicas, plane } = chaosEnv;
  switch (fault.what) {
    case "rates":
      return proxy.setRates(fault.rates, random);
    case "drop-watches":
      return proxy.dropWatches(fault.share);
    case "expire-watches":
      return proxy.expireWatches(fault.share);
    case "stall-watches":
      proxy.stallWatches(fault.share, fault);
      return delay(fault.dies ? 0 : fault.lastMs);
    case "kill":
      await replicas.kill(fault.replica);
      await delay(fault.downMs);
      return replicas.start(fault.replica);
    case "revoke-platform":
      return revoke(chaosEnv, ClusterRoleBinding, platformBindings(), fault.lastMs);
    case "revoke-developer":
      return revoke(chaosEnv, RoleBinding, developer(), fault.lastMs);
    case "restart":
      return plane.restart(fault.part, fault.downMs);
  }
}

async function revoke(
  { kube }: ChaosEnv,
  ref: ResourceRef,
  bindings: readonly KubeObject[],
  lastMs: number,
): Promise<void> {
  for (const { metadata } of bindings) {
    await retryUntilAcknowledged(`revoke ${metadata.name}`, async () => {
      try {
        await kube.delete(ref, metadata);
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    });
  }
  await delay(lastMs);
  await retryUntilAcknowledged("grant", () => applyObjects(kube, bindings));
}
