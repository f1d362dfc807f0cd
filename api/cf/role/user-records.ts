// The records of users: the platform keeps one for a user who was made through the API, or has labels or annotations.
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { User, userObjectName } from "../../../crds/user/user.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";

/** Undefined for a user who only holds roles. */
export function findUserRecord(cache: ClusterCache, username: string): User | undefined {
  const found = cache.store(User).find({ namespace: SYSTEM_NAMESPACE, name: userObjectName(username) });
  return found?.spec.username === username ? found : undefined;
}
