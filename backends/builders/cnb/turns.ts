// Which builds may start: one at a time for each app, since its builds share a cache, and only so many in all. Pure.
import type { Staging } from "../../../crds/staging/staging.ts";

/** Why a Staging waits, as its condition says it; undefined when it may start. `open` are all unfinished Stagings of the class. */
export function findReasonToWait(
  staging: Staging,
  open: readonly Staging[],
  concurrency: number,
): { reason: string; message: string } | undefined {
  const ahead = open.filter((other) => !isSame(other, staging) && isAhead(other, staging));
  const sameApp = ahead.find(
    (other) => other.metadata.namespace === staging.metadata.namespace && other.spec.app.guid === staging.spec.app.guid,
  );
  if (sameApp)
    return {
      reason: "WaitingForApp",
      message: `waits until the app's build ${sameApp.metadata.name} has ended: both use the app's cache`,
    };
  // A build that waits for its own app takes no place.
  const apps = new Set(ahead.map((other) => `${other.metadata.namespace}/${other.spec.app.guid}`));
  if (apps.size < concurrency) return undefined;
  return {
    reason: "WaitingForOthers",
    message: `waits for other builds: ${concurrency} run at the same time (parameter concurrency of the class)`,
  };
}

/** Started builds first, then the oldest. The same on every replica. */
function isAhead(other: Staging, staging: Staging): boolean {
  const [a, b] = [rank(other), rank(staging)];
  return a < b;
}

function rank({ metadata, status }: Staging): string {
  const started = status?.state === "Running" ? "0" : "1";
  return `${started} ${metadata.creationTimestamp ?? ""} ${metadata.namespace}/${metadata.name}`;
}

function isSame(a: Staging, b: Staging): boolean {
  return a.metadata.namespace === b.metadata.namespace && a.metadata.name === b.metadata.name;
}
