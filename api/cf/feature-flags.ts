// Feature flags as this API asks for them: those about reading, and those that must be known before any work is done. The others hold at every door, by admission policy.
import { App } from "../../crds/app/app.ts";
import { FeatureFlag } from "../../crds/feature-flag/feature-flag.ts";
import { appliesToAdmins, toFlagObjectName, isFlagEnabled, type FlagName } from "../../crds/feature-flag/flags.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Org } from "../../crds/org/org.ts";
import { CFError } from "../http/errors.ts";
import type { Session } from "../access/session.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

/** The object of a flag; undefined where an installation has none. */
export function findFlag(cache: ClusterCache, name: FlagName): FeatureFlag | undefined {
  return cache.store(FeatureFlag).find({ namespace: SYSTEM_NAMESPACE, name: toFlagObjectName(name) });
}

/** CF's admins: those with rights on every org. */
export function isAdmin(session: Pick<Session, "allows">): boolean {
  return session.allows({ verb: "update", on: Org });
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
