// Copies a package to another app: `POST /v3/packages?source_guid=`.
import type { App } from "../../crds/app/app.ts";
import { Package } from "../../crds/package/package.ts";
import { Space } from "../../crds/space/space.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import type { Session } from "../access/session.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import { appOf, resolveApp } from "../cf/app/owner-app.ts";
import { notFound, unprocessable } from "../http/errors.ts";
import { toPackage } from "./payload.ts";

/** As in CF, a copy gets the source's content or image, but not its metadata or registry credentials. @throws CFError 403, 422 */
export async function copyPackage(
  session: Session,
  blobs: BlobStore,
  { sourceGUID, appGUID }: { sourceGUID: string; appGUID: string },
): Promise<Package> {
  const app = resolveApp(session, appGUID);
  const source = findSource(session, sourceGUID);
  if (appOf(session.cache, source)?.metadata.uid === app.metadata.uid)
    throw unprocessable("Source and destination app cannot be the same");
  const { namespace = "" } = app.metadata;
  session.authorize({ verb: "create", on: Package, namespace });
  requireNotSuspended(session, namespace);
  const { type, image, username, content } = source.spec;
  if (type === "docker")
    return session.create(Package, toPackage(session.cache, app, { type, image, ...(username && { username }) }));
  if (!content) throw unprocessable("Source package has no bits to copy.");
  session.authorize({ verb: "update", on: Package, subresource: "content", namespace });
  const from = { space: spaceGUID(session, source), digest: content.digest };
  await blobs.copy(from, spaceGUID(session, app), "package");
  return session.create(Package, toPackage(session.cache, app, { type, content }));
}

function findSource(session: Session, guid: string): Package {
  const source = session.find(Package, guid);
  if (!source) throw unprocessable("Source package is invalid. Ensure it exists and you have access to it.");
  const { namespace = "", name } = source.metadata;
  session.authorize({ verb: "get", on: Package, subresource: "content", namespace, name });
  return source;
}

/** GUID of an object's space: the first half of its blob key. */
export function spaceGUID(session: Session, { metadata }: Package | App): string {
  const space = session.cache.spaceOf(metadata.namespace);
  if (!space) throw notFound("Package");
  return session.cache.guid(Space, space);
}
