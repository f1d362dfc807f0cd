// The platform's own cluster among others.

/** Its name in placement decisions. No Cluster object has it. */
export const LOCAL_CLUSTER = "local";

/** Every cluster has this label, with its name, for selectors; `local`, too. */
export const CLUSTER_NAME_LABEL = "cupola.dev/cluster";

/** A label of what the laptop runs on this machine: of Clusters `running` or `stopped`, of a database's ConfigMap its name. */
export const HERE_LABEL = "cupola.dev/here";
