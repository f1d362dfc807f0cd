// Known gaps of the embedded API server, each with its reason. docs/fidelity.md is generated from them.

/** Rows of the contract, by table and name. */
export const embeddedGaps: Record<string, string> = {
  "crds: a default that a definition gets later shows in objects stored before it":
    "kube-apiserver sets defaults whenever it reads an object, the embedded server when the object is written, so an object stored before gets the default with its next write",
};

/** Commands of kubectl whose requests are answered differently. */
export const kubectlGaps: Record<string, string> = {
  "kubectl get all":
    "the embedded server has no replication controllers, cron jobs and autoscalers, since nothing here runs them; kubectl learns that from discovery and does not ask for them",
};

/** Left out of every comparison of answers to kubectl's requests. */
export const uncompared: Record<string, string> = {
  "versions, uids, times, tokens, addresses of Services": "each server makes its own",
  "answers of discovery, OpenAPI and watches": "rows of the contract compare them; here only the status counts",
  "lists of events": "the controllers inside kube-apiserver emit events of their own at their own times",
  "descriptions of table columns": "prose; the embedded server's is shorter in places",
};

/** Features that the embedded server leaves out on purpose. */
export const notServed: Record<string, string> = {
  "controllers of workloads (Deployment, ReplicaSet, Job, Pod, Endpoints), pod logs, exec, eviction":
    "nothing here runs pods: the server stores and shows these kinds and checks their outline",
  "webhooks behind a Service":
    "a Service has no endpoints here, so such a call fails as a call to a missing Service does; webhooks by URL are called",
  "webhooks for conversion and authentication, AdmissionReview v1beta1":
    "the versions of a CRD may differ only in name here; clients use tokens and certificates; servers of today send v1",
  "admission of the server's own writes":
    "garbage collection, deletion of namespaces and role aggregation run inside the server and bypass admission",
  "MutatingAdmissionPolicy, ResourceQuota, LimitRange, Pod Security":
    "the server stores the kinds that clients expect, and enforces none of them",
  "protobuf in answers": "clients that ask for protobuf also accept JSON; request bodies may be protobuf",
  "Table and PartialObjectMetadata of v1beta1": "clients of today ask for v1",
  "create of a custom object under a name (POST to its path)":
    "kube-apiserver accepts it by accident of its routing; the embedded server answers 405",
};
