// The API groups, the system namespace and the field managers.

/** Kinds that users write. */
export const GROUP = "cupola.dev";
/** Contract kinds between the platform and its backends. */
export const WORKLOADS_GROUP = "workloads.cupola.dev";
/** Kinds that PolicyTemplates make (docs/policy.md). */
export const CONSTRAINTS_GROUP = "constraints.cupola.dev";
/** `kubectl get cf` lists all kinds of this category. */
export const CATEGORY = "cf";
/** Holds objects that belong to no org: shared domains, buildpacks, stacks, quotas, claims. */
export const SYSTEM_NAMESPACE = "cupola-system";
/** Field manager of the CF API's writes. Controllers use `cupola-controller-<name>`. */
export const API_FIELD_MANAGER = "cupola-api";
/** Prefix of the controllers' field managers; `updated_at` ignores their writes. */
export const CONTROLLER_FIELD_MANAGER_PREFIX = "cupola-controller-";

/** Field manager of `cup import`: a controller's, since no person wrote what it writes. */
export const IMPORT_FIELD_MANAGER = `${CONTROLLER_FIELD_MANAGER_PREFIX}import`;

/** Is this the field manager of a controller? */
export function isControllerManager(manager: string): boolean {
  return manager.startsWith(CONTROLLER_FIELD_MANAGER_PREFIX);
}
