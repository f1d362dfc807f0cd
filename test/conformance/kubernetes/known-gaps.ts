// What the embedded API server is known not to do as kube-apiserver does, each with the reason. docs/fidelity.md is made from it.

/** Rows of the contract, by table and name. */
export const embeddedGaps: Record<string, string> = {};

/** Commands of kubectl whose requests are answered differently. */
export const kubectlGaps: Record<string, string> = {
  "kubectl get all":
    "replication controllers, cron jobs and autoscalers are not served, since nothing here runs them; kubectl learns that from discovery and does not ask",
};

/** Left out of every comparison of answers to kubectl's requests. */
export const uncompared: Record<string, string> = {
  "versions, uids, times, tokens, addresses of Services": "each server makes its own",
  "answers of discovery, OpenAPI and watches": "compared by rows of their own; here only their status",
  "lists of events": "a kube-apiserver's own loops report what they find, when they find it",
  "descriptions of table columns": "prose, in parts shorter",
};

/** What no row asks of the embedded server, since it is not there on purpose. */
export const notServed: Record<string, string> = {
  "controllers of workloads (Deployment, ReplicaSet, Job, Pod, Endpoints), pod logs, exec, eviction":
    "nothing here runs pods: the kinds are stored, shown and validated in outline",
  "webhooks behind a Service":
    "a Service leads nowhere here: the call fails as one to a Service that is not there; webhooks by URL are called",
  "webhooks for conversion and authentication, AdmissionReview v1beta1":
    "a CRD's versions differ in nothing but their name here; clients have tokens and certificates; v1 is what servers of today send",
  "admission of the server's own writes":
    "garbage collection, namespaces and role aggregation run inside the server, as itself, and ask nobody",
  "MutatingAdmissionPolicy, ResourceQuota, LimitRange, Pod Security":
    "stored where clients expect the kind, not enforced",
  "protobuf in answers": "whoever asks for it also takes JSON; request bodies are read",
  "Table and PartialObjectMetadata of v1beta1": "clients of today ask for v1",
  "create of a custom object under a name (POST to its path)":
    "kube-apiserver takes it by accident of its routing; here it is 405",
};
