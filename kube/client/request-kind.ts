// What a request to an API server does, for whoever counts requests.

/**
 * `read`: looks. `question`: a POST that is answered and changes nothing: a review (SubjectAccessReview, TokenReview, SelfSubject…), or a write as a dry run.
 * `lease`: the beat of replicas and leaders. `write`: would change an object.
 */
export type RequestKind = "read" | "question" | "lease" | "write";

const READS = new Set(["GET", "HEAD"]);
const REVIEWS = /\/apis\/(authentication|authorization)\.k8s\.io\/[^?]*reviews(\?|$)/;
const DRY_RUN = /[?&]dryRun=/;
const LEASES = /\/apis\/coordination\.k8s\.io\/[^?]*\/leases(\/|\?|$)/;

/** `path` with its query. */
export function requestKind({ method, path }: { method: string; path: string }): RequestKind {
  if (READS.has(method)) return "read";
  if (REVIEWS.test(path) || DRY_RUN.test(path)) return "question";
  return LEASES.test(path) ? "lease" : "write";
}
