// What the embedded API server is known not to do as kube-apiserver does, each with the reason. docs/fidelity.md is made from it.

/** Rows of the contract, by table and name. */
export const embeddedGaps: Record<string, string> = {};

/** Commands of kubectl whose requests are answered differently. */
export const kubectlGaps: Record<string, string> = {
  "kubectl get all": "replication controllers, cron jobs and autoscalers are not served, since nothing here runs them; kubectl learns that from discovery and does not ask",
};

/** Left out of every comparison of answers to kubectl's requests. */
export const uncompared: Record<string, string> = {
  "versions, uids, times, tokens, addresses of Services": "each server makes its own",
  "answers of discovery, OpenAPI and watches": "compared by rows of their own; here only their status",
  "lists of events": "a kube-apiserver's own loops report what they find, when they find it",
  "descriptions of table columns": "prose, in parts shorter",
  "in managedFields: an empty `f:resources`, and `.` of lists by name": "kube-apiserver derives them from Go's zero values: a required list is always there, an empty struct always printed",
};
