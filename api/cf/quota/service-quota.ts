// Refuses a service instance that would exceed a quota, in CF's words.
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import type { Session } from "../../access/session.ts";
import { unprocessable } from "../../http/errors.ts";
import { quotaOf, spaceQuotaOf } from "../org/org-quota.ts";
import { listSpaceNamespaces } from "./usage.ts";

/** One more instance. @throws CFError 422 */
export function requireServiceInstanceQuota({ cache }: Pick<Session, "cache">, namespace: string): void {
  const space = cache.spaceOf(namespace);
  const org = space && cache.orgOf(space.metadata.namespace);
  if (!space || !org) return;
  const count = (namespaces: readonly string[]): number =>
    namespaces.reduce((sum, one) => sum + cache.store(ServiceInstance).list({ namespace: one }).length, 0);
  const isFull = (limit: number | undefined, namespaces: () => readonly string[]): boolean =>
    limit !== undefined && count(namespaces()) >= limit;
  if (isFull(spaceQuotaOf(cache, space)?.spec.totalServiceInstances, () => [namespace]))
    throw unprocessable("You have exceeded your space's services limit.");
  if (
    isFull(quotaOf(cache, org)?.spec.totalServiceInstances, () =>
      listSpaceNamespaces(cache, org.status?.namespace ?? ""),
    )
  )
    throw unprocessable("You have exceeded your organization's services limit.");
}
