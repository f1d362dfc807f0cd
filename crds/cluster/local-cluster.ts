// The platform's own cluster among others.

/** Its name in placement decisions. No Cluster object has it. */
export const LOCAL_CLUSTER = "local";

/** Every cluster has this label, with its name, for selectors; `local`, too. */
export const CLUSTER_NAME_LABEL = "cupola.dev/cluster";

/** A label of Clusters that the laptop runs on this machine: `running`, or `stopped`. */
export const HERE_LABEL = "cupola.dev/here";
