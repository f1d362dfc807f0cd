// The instances of an LRP that take requests, for all that lead clients to them: routers and DNS. Pure.
import { toWantedIndex } from "./index-pool.ts";
import type { LRP, LrpInstance } from "./lrp.ts";

export type ServingInstance = LrpInstance & { host: string };

/**
 * Instances of an LRP that may take requests. One that the spec removes or restarts takes none from
 * that moment, before its runner has seen the change.
 */
export function servingInstances({
  metadata,
  spec,
  status,
}: Pick<LRP, "metadata" | "spec" | "status">): ServingInstance[] {
  if (metadata.deletionTimestamp) return [];
  const { restartInstances } = spec;
  const isWanted = toWantedIndex(spec);
  return (status?.instances ?? []).filter(
    (instance): instance is ServingInstance =>
      isServing(instance) &&
      isWanted(instance.index) &&
      (restartInstances?.[String(instance.index)] ?? instance.restart) === instance.restart,
  );
}

/** Whether the instance, as its runner last saw it, takes requests. */
export function isServing(instance: LrpInstance): instance is ServingInstance {
  return instance.state === "Running" && instance.ready && instance.host !== undefined;
}
