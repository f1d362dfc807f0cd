// Classifies API server requests, for counters.

/**
 * `read`: GET or HEAD. `question`: a POST without a change: a review (SubjectAccessReview, TokenReview, SelfSubject…) or a dry run.
 * `lease`: a heartbeat of replicas and leaders. `write`: any other write.
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
