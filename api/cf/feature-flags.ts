// The feature flags that the API checks itself: those about reading, and those to check before any work is done. Admission policy enforces all others.
import { App } from "../../crds/app/app.ts";
import { FeatureFlag } from "../../crds/feature-flag/feature-flag.ts";
import { appliesToAdmins, toFlagObjectName, isFlagEnabled, type FlagName } from "../../crds/feature-flag/flags.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { CFError } from "../http/errors.ts";
import { isAdmin } from "../access/is-admin.ts";
import type { Session } from "../access/session.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

/** The object of a flag; undefined where an installation has none. */
export function findFlag(cache: ClusterCache, name: FlagName): FeatureFlag | undefined {
  return cache.store(FeatureFlag).find({ namespace: SYSTEM_NAMESPACE, name: toFlagObjectName(name) });
}

/** @throws CFError 403 FeatureDisabled, with the operator's own words where there are some */
export function requireFlag(session: Session, name: FlagName): void {
  const flag = findFlag(session.cache, name);
  if (isFlagEnabled(name, flag) || (!appliesToAdmins(name) && isAdmin(session))) return;
  throw new CFError("FeatureDisabled", flag?.spec.customErrorMessage || name);
}

/** Two flags hide variables: one from everybody, one from all who do not see secrets everywhere. @throws CFError 403 */
export function requireVisibleVariables(session: Session): void {
  requireFlag(session, "env_var_visibility");
  if (!session.allows({ verb: "get", on: App, subresource: "secrets" }))
    requireFlag(session, "space_developer_env_var_visibility");
}
