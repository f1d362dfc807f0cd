// Finds packages whose files a push may reuse instead of uploading them again.
import { creationSortKey } from "../../../crds/guid.ts";
import { Package } from "../../../crds/package/package.ts";
import { Space } from "../../../crds/space/space.ts";
import type { PackageSource } from "../../../blobs/package/resources.ts";
import type { Session } from "../../access/session.ts";

/** Packages searched per request. The upload that follows a match must find the same files again. */
export const MATCHED_PACKAGES = 60;
export const UPLOADED_PACKAGES = 2 * MATCHED_PACKAGES;
/** Packages searched per app, so that an app that is pushed all day does not crowd out others. */
const PACKAGES_PER_APP = 2;

/**
 * The newest uploaded packages whose content the caller may read, at most `limit`. None where every permission costs a review by
 * the cluster's authorizers: uploading the files again is cheaper.
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
