// The two API groups, the namespaces the platform owns, and its names towards Kubernetes.

/** The nouns a person writes. */
export const GROUP = "cupola.dev";
/** The contracts between the platform and its backends. */
export const WORKLOADS_GROUP = "workloads.cupola.dev";
/** `kubectl get cf` lists every noun. */
export const CATEGORY = "cf";
/** Holds what belongs to no org: shared domains, buildpacks, stacks, quotas, claims. */
export const SYSTEM_NAMESPACE = "cupola-system";
/** Field manager of what the CF API writes. Controllers use `cupola-<controller>`. */
export const API_FIELD_MANAGER = "cupola-api";
/** Every field manager of the platform starts so; `updated_at` ignores their writes. */
export const CONTROLLER_FIELD_MANAGER_PREFIX = "cupola-controller-";
