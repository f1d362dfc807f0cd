// Explains to operators why a process is not ready.
import type { CheckResult } from "../kube/server/readiness.ts";
import type { UnsyncedWatch } from "../kube/cache/unsynced-watches.ts";
import type { InformerStatus } from "../kube/cache/informer-options.ts";

const MAX_LISTED_GAPS = 50;
const MAX_LISTED_PERMISSIONS = 20;

/** Names the watches that cannot be read. */
export function formatWatchGaps(gaps: readonly (UnsyncedWatch | InformerStatus)[]): string {
  const listed = gaps
    .slice(0, MAX_LISTED_GAPS)
    .map(
      ({ resource, namespace, state, parkReason }) =>
        `${resource}${namespace ? ` in ${namespace}` : ""} ${parkReason ?? state}`,
    );
  return [...listed, ...(gaps.length > MAX_LISTED_GAPS ? [`and ${gaps.length - MAX_LISTED_GAPS} more`] : [])].join(
    ", ",
  );
}

/** A watch that is still listing keeps the process unready. One that lacks a permission or a kind only degrades it, so that a single missing permission does not stop the platform. */
export function presentWatchGaps(gaps: readonly UnsyncedWatch[]): CheckResult {
  if (gaps.length === 0) return true;
  const text = formatWatchGaps([
    ...new Map(gaps.map((gap) => [`${gap.resource} ${gap.namespace ?? ""}`, gap])).values(),
  ]);
  return gaps.every(({ parkReason }) => parkReason) ? { degraded: text } : text;
}

/** Permissions that the API server denies to this process. Applying the chart again grants them. */
export function presentMissingPermissions(missing: readonly string[]): CheckResult {
  const all = [...new Set(missing)].sort();
  if (all.length === 0) return true;
  const more = all.length > MAX_LISTED_PERMISSIONS ? [`and ${all.length - MAX_LISTED_PERMISSIONS} more`] : [];
  return {
    degraded: `this process may not ${[...all.slice(0, MAX_LISTED_PERMISSIONS), ...more].join(", ")}: run helm upgrade, which restores its roles and bindings`,
  };
}

/** Kinds whose caches are so far behind that objects have waited too long; the log names the objects. */
export function presentStaleCaches(resources: readonly string[]): CheckResult {
  return (
    resources.length === 0 || {
      degraded: `the cache stays behind the API server, and objects wait for it: ${resources.join(", ")}`,
    }
  );
}
