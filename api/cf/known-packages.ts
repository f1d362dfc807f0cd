// The packages whose files a caller may reuse: a push need not send what stands in one of them.
import { creationSortKey } from "../../crds/guid.ts";
import { Package } from "../../crds/package/package.ts";
import { Space } from "../../crds/space/space.ts";
import type { PackageSource } from "../../blobs/package/resources.ts";
import type { Session } from "../access/session.ts";

/** So many packages are looked through for one request. A match must still be found by the upload that follows it. */
export const MATCHED_PACKAGES = 60;
export const UPLOADED_PACKAGES = 2 * MATCHED_PACKAGES;
/** So many of one app, so that an app that is pushed all day hides no other. */
const PACKAGES_PER_APP = 2;

/**
 * The newest uploaded packages whose content the caller may read, at most `limit`. None where every right costs a review by
 * the cluster's authorizers: sending the files again is cheaper.
 */
export function listKnownPackages(session: Session, limit: number): PackageSource[] {
  if (!session.canCacheLists) return [];
  const newest = session.list(Package).filter(hasContent).sort(byAge);
  return newest.filter(isAmongNewestOfApp()).filter(mayRead(session)).slice(0, limit).flatMap(toSource(session));
}

type StoredPackage = Package & { spec: { content: { digest: string } } };

function hasContent(found: Package): found is StoredPackage {
  return found.spec.content !== undefined;
}

function byAge(one: Package, other: Package): number {
  return creationSortKey(one) > creationSortKey(other) ? -1 : 1;
}

function isAmongNewestOfApp(): (found: Package) => boolean {
  const counts = new Map<string, number>();
  return ({ metadata: { namespace }, spec }) => {
    const app = `${namespace}/${spec.appRef.name}`;
    const count = (counts.get(app) ?? 0) + 1;
    counts.set(app, count);
    return count <= PACKAGES_PER_APP;
  };
}

function mayRead(session: Session): (found: Package) => boolean {
  return ({ metadata: { namespace = "", name } }) =>
    session.allows({ verb: "get", on: Package, subresource: "content", namespace, name });
}

function toSource({ cache }: Session): (found: StoredPackage) => PackageSource[] {
  return ({ metadata, spec }) => {
    const space = cache.spaceOf(metadata.namespace);
    return space ? [{ space: cache.guid(Space, space), digest: spec.content.digest }] : [];
  };
}
