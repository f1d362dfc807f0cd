// Feature flags that the API itself checks: those that restrict reads, and those to check before any work starts. Admission policies enforce all others.
import { FeatureFlag } from "../../crds/feature-flag/feature-flag.ts";
import { appliesToAdmins, toFlagObjectName, isFlagEnabled, type FlagName } from "../../crds/feature-flag/flags.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { CFError } from "../http/errors.ts";
import { isAdmin } from "../access/is-admin.ts";
import type { Session } from "../access/session.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { APP_SECRETS } from "./app/app-secrets.ts";

/** A flag's object; undefined when the installation has none. */
export function findFlag(cache: ClusterCache, name: FlagName): FeatureFlag | undefined {
  return cache.store(FeatureFlag).find({ namespace: SYSTEM_NAMESPACE, name: toFlagObjectName(name) });
}

/** Is a flag on that applies to admins as well? */
export function isFlagOn(session: Session, name: FlagName): boolean {
  return isFlagEnabled(name, findFlag(session.cache, name));
}

/** @throws CFError 403 FeatureDisabled, with the operator's custom message if set */
export function requireFlag(session: Session, name: FlagName): void {
  const flag = findFlag(session.cache, name);
  if (isFlagEnabled(name, flag) || (!appliesToAdmins(name) && isAdmin(session))) return;
  throw new CFError("FeatureDisabled", flag?.spec.customErrorMessage || name);
}

/** Two flags hide variables: one from every caller, one from callers without cluster-wide access to secrets. @throws CFError 403 */
export function requireVisibleVariables(session: Session): void {
  requireFlag(session, "env_var_visibility");
  if (!session.allows(APP_SECRETS)) requireFlag(session, "space_developer_env_var_visibility");
}
