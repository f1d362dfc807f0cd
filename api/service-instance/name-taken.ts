// The refusal of a service instance's name that the space has already, of its own or shared with it.
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { isNameShared } from "../cf/service/sharing.ts";
import { unprocessable, type CFError } from "../http/errors.ts";

export function taken(name: string): () => CFError {
  return () => unprocessable(`The service instance name is taken: ${name}.`);
}

/** Claims keep the names of a space's own instances apart. @throws CFError 422 */
export function requireNotShared(cache: ClusterCache, namespace: string, name: string): void {
  if (isNameShared(cache, namespace, name)) throw taken(name)();
}
