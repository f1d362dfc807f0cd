// The orgs or spaces under a quota, and those of them whose apps log without a limit.
import { App } from "../../../crds/app/app.ts";
import { displayNameOf, sortKeyOfName } from "../../../crds/object-names.ts";
import { Org } from "../../../crds/org/org.ts";
import type { OrgQuota } from "../../../crds/org-quota/org-quota.ts";
import { Process } from "../../../crds/process/process.ts";
import type { SpaceQuota } from "../../../crds/space-quota/space-quota.ts";
import { Space } from "../../../crds/space/space.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { unprocessable } from "../../http/errors.ts";
import { quotaOf } from "../org/org-quota.ts";
import { listSpaceNamespaces } from "./usage.ts";

/** All orgs under a quota, whether or not the caller sees them. */
export function listOrgsUnder(cache: ClusterCache, quota: OrgQuota): Org[] {
  return cache
    .store(Org)
    .list()
    .filter((org) => quotaOf(cache, org)?.metadata.uid === quota.metadata.uid);
}

/** All spaces that name a quota. */
export function listSpacesUnder(cache: ClusterCache, quota: SpaceQuota): Space[] {
  return cache
    .store(Space)
    .list({ namespace: quota.metadata.namespace ?? "" })
    .filter((space) => space.spec.quotaRef?.name === quota.metadata.name);
}

/** CF names two of them. */
const NAMED = 2;

/** The end of CF's sentence about orgs or spaces with apps whose logs have no limit; undefined when there are none. */
export function findUnlimitedLogs(
  cache: ClusterCache,
  places: readonly (Org | Space)[],
  noun: "org" | "space",
): string | undefined {
  const found = places
    .filter((place) => namespacesOf(cache, place, noun).some((namespace) => hasUnlimitedLogs(cache, namespace)))
    .toSorted((one, other) => (sortKeyOfName(one) < sortKeyOfName(other) ? -1 : 1));
  if (found.length === 0) return undefined;
  const names = `'${found.slice(0, NAMED).map(displayNameOf).join("', '")}'`;
  const others = found.length > NAMED ? ` and ${found.length - NAMED} other ${noun}s` : "";
  return `${noun}${found.length > 1 ? "s" : ""} ${names}${others} which contain${found.length > 1 ? "" : "s"} apps running with an unlimited log rate limit.`;
}

/** @throws CFError 422 while an app in these orgs or spaces, which are under the quota to be limited, logs without a limit */
export function requireLimitedLogs(cache: ClusterCache, places: readonly (Org | Space)[], noun: "org" | "space"): void {
  const text = findUnlimitedLogs(cache, places, noun);
  if (text !== undefined)
    throw unprocessable(`Current usage exceeds new quota values. This quota is applied to ${text}`);
}

function namespacesOf(cache: ClusterCache, { status }: Org | Space, noun: "org" | "space"): string[] {
  const { namespace } = status ?? {};
  if (namespace === undefined) return [];
  return noun === "org" ? listSpaceNamespaces(cache, namespace) : [namespace];
}

function hasUnlimitedLogs(cache: ClusterCache, namespace: string): boolean {
  const apps = new Set(
    cache
      .store(App)
      .list({ namespace })
      .map(({ metadata }) => metadata.name),
  );
  return cache
    .store(Process)
    .list({ namespace })
    .some((process) => process.spec.logRateLimitBytesPerSecond < 0 && apps.has(process.spec.appRef.name));
}
