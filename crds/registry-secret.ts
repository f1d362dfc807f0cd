// The Secret with which nodes pull the images of apps.

/**
 * Its name in the system namespace, where an operator or the Helm chart puts it, and in every space's, where the platform keeps a copy.
 * Its type is kubernetes.io/dockerconfigjson. Credentials that may only read are enough.
 */
export const REGISTRY_SECRET = "cupola-registry";
