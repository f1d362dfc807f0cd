// The ConfigMap with the operator's settings of the spaces' networks.

/** Its name, in the system namespace. */
export const NETWORK_CONFIG = "cupola-network";
