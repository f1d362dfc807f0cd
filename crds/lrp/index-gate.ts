// How a pod of class `deployment` gets its instance index: the fields that the operation instance-index writes, and no others.

/** Pods wait behind this scheduling gate until they have an index. */
export const INDEX_GATE = "cupola.dev/index";
/** Kubernetes' annotation; when a ReplicaSet is scaled down, ready pods with the lowest cost go first. */
export const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost";
