// CF's feature flags: names, defaults, and whether admins are exempt. The defaults are CF's, except for the two image flags. Pure.
import type { FeatureFlag } from "./feature-flag.ts";

interface FlagDefault {
  /** The default. */
  enabled: boolean;
  /** Set when admins are not exempt. */
  appliesToAdmins?: true;
}

/** Prefix of refusals; the CF API recognizes them by it. */
export const FEATURE_DISABLED = "Feature Disabled: ";

/** By CF's name, in CF's order. */
export const FEATURE_FLAGS = {
  app_bits_upload: { enabled: true },
  app_scaling: { enabled: true },
  // Off in CF, which does not trust images. Here every app already runs beside images of others.
  diego_cnb: { enabled: true, appliesToAdmins: true },
  diego_docker: { enabled: true, appliesToAdmins: true },
  env_var_visibility: { enabled: true, appliesToAdmins: true },
  hash_based_routing: { enabled: false, appliesToAdmins: true },
  hide_marketplace_from_unauthenticated_users: { enabled: false, appliesToAdmins: true },
  private_domain_creation: { enabled: true },
  resource_matching: { enabled: true, appliesToAdmins: true },
  route_creation: { enabled: true },
  route_sharing: { enabled: false, appliesToAdmins: true },
  service_instance_creation: { enabled: true },
  service_instance_sharing: { enabled: false, appliesToAdmins: true },
  set_roles_by_username: { enabled: true },
  space_developer_env_var_visibility: { enabled: true },
  space_scoped_private_broker_creation: { enabled: true, appliesToAdmins: true },
  task_creation: { enabled: true },
  unset_roles_by_username: { enabled: true },
  user_org_creation: { enabled: false },
} as const satisfies Record<string, FlagDefault>;
export type FlagName = keyof typeof FEATURE_FLAGS;

/** All names, sorted as CF lists them. */
export const FLAG_NAMES = (Object.keys(FEATURE_FLAGS) as FlagName[]).toSorted();

export function isFlagName(name: string): name is FlagName {
  return Object.hasOwn(FEATURE_FLAGS, name);
}

/** Does the flag apply to admins as well? */
export function appliesToAdmins(name: FlagName): boolean {
  return (FEATURE_FLAGS[name] as FlagDefault).appliesToAdmins === true;
}

/** Object name of the flag. */
export function toFlagObjectName(name: FlagName): string {
  return name.replaceAll("_", "-");
}

/** The flag with this object name; undefined for a name that CF does not know. */
export function findFlagName(objectName: string): FlagName | undefined {
  const name = objectName.replaceAll("-", "_");
  return isFlagName(name) ? name : undefined;
}

/** The effective value; without an object, the default. */
export function isFlagEnabled(name: FlagName, flag: Pick<FeatureFlag, "spec"> | undefined): boolean {
  return flag?.spec.enabled ?? FEATURE_FLAGS[name].enabled;
}
