// Makes droplets without a build: for an upload, or as a copy of another app's.
import { dirname, join } from "node:path";
import { z } from "zod";
import { ArchiveRejected } from "../../blobs/archive/archive-path.ts";
import { BlobTooLarge, type BlobStore } from "../../blobs/blob-store.ts";
import { receiveDroplet } from "../../blobs/droplet/receive-droplet.ts";
import { processScratch } from "../../blobs/scratch/scratch-space.ts";
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { findDropletBase, findDropletFolder, type DropletOwner } from "../../crds/backend-class/droplet-place.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { REGISTRY_SECRET } from "../../crds/registry-secret.ts";
import { newGUID } from "../../crds/guid.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { Session } from "../access/session.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import { newChildMetadata } from "../cf/app/owner-app.ts";
import { Space } from "../../crds/space/space.ts";
import { notFound, unprocessable } from "../http/errors.ts";
import { toOneSchema } from "../http/shared-schemas.ts";
import type { Services } from "../routing/services.ts";
import { dropletState } from "../cf/droplet/droplet-state.ts";

/** Where droplets are kept. */
export type DropletStores = Pick<Services, "blobs" | "images">;

const relationships = z.strictObject({ app: toOneSchema });
export const createDropletBody = z.strictObject({
  relationships,
  process_types: z
    .record(z.string().min(1, "key must not be empty"), z.string("value must be a string"), "must be an object")
    .nullish(),
});
export const copyDropletBody = z.strictObject({ relationships });
export const createDropletQuery = z.strictObject({ source_guid: z.string().optional() });

/** A folder of its own for a droplet's layers, or the owner of its files in an image. */
export type DropletLocation = { root: string } | { owner: DropletOwner };

/** Where an uploaded droplet goes. @throws CFError 422 where nothing runs such droplets */
export function newDropletLocation({ cache }: Session): DropletLocation {
  const classes = cache.store(BackendClass).list();
  const folder = findDropletFolder(classes);
  if (folder !== undefined) return { root: join(folder, newGUID()) };
  const images = findDropletBase(classes);
  if (images) return { owner: images.owner };
  throw unprocessable(
    "Droplets cannot be uploaded here: no builder class of this platform takes them. Push the source or an image instead.",
  );
}

/** The space's part of the blob store. */
export function spaceGUIDOf({ cache }: Session, { metadata }: App | Droplet): string {
  const space = cache.spaceOf(metadata.namespace);
  if (!space) throw notFound("Droplet");
  return cache.guid(Space, space);
}

function toDraft(session: Session, app: App, spec: Partial<Droplet["spec"]>): Draft {
  return {
    metadata: newChildMetadata(session.cache, app),
    spec: { appRef: { name: app.metadata.name }, ...spec },
  };
}

/** An empty droplet that awaits its upload. @throws CFError 422 */
export async function createDroplet(session: Session, body: z.output<typeof createDropletBody>): Promise<Droplet> {
  const { guid } = body.relationships.app.data;
  const app = session.find(App, guid);
  if (!app) throw unprocessable(`App with guid "${guid}" does not exist, or you do not have access to it.`);
  session.authorize({ verb: "create", on: Droplet, namespace: app.metadata.namespace ?? "" });
  const { type, stack } = app.spec.lifecycle;
  if (type === "docker") throw unprocessable("Droplet creation is not available for apps with docker lifecycles.");
  newDropletLocation(session);
  const processTypes = body.process_types ?? { web: "" };
  return session.create(
    Droplet,
    toDraft(session, app, { kind: "host", lifecycleType: type, ...(stack && { stack }), processTypes }),
  );
}

/** As in CF, a copy keeps the source's process types, stack and buildpacks. @throws CFError 404, 422 */
export async function copyDroplet(
  session: Session,
  stores: DropletStores,
  { sourceGUID, appGUID }: { sourceGUID: string; appGUID: string },
): Promise<Droplet> {
  const source = session.find(Droplet, sourceGUID);
  if (!source) throw notFound("Droplet");
  const app = session.find(App, appGUID);
  if (!app) throw notFound("App");
  const { namespace = "" } = app.metadata;
  session.authorize({ verb: "create", on: Droplet, namespace });
  requireNotSuspended(session, namespace);
  checkCopy(source, app);
  const { appRef: _app, buildRef: _build, packageRef: _package, imagePullSecretRef, ...spec } = source.spec;
  const isSameSpace = source.metadata.namespace === namespace;
  // Each space has a copy of the platform's own Secret.
  const keepsSecret = isSameSpace || imagePullSecretRef?.name === REGISTRY_SECRET;
  const artifact = await copyArtifact(session, stores, source, app);
  const made = await session.create(
    Droplet,
    toDraft(session, app, { ...spec, ...(keepsSecret && imagePullSecretRef && { imagePullSecretRef }), ...artifact }),
  );
  return untilStored(session, made);
}

/** Waits, on watches that exist anyway, for a droplet that becomes an image: as it is then. */
export async function untilStored(session: Session, droplet: Droplet): Promise<Droplet> {
  const current = (): Droplet => session.cache.store(Droplet).byUid(droplet.metadata.uid ?? "") ?? droplet;
  await session.holdWhile([Droplet], () => dropletState(current()) === "PROCESSING_UPLOAD");
  return current();
}

/** @throws CFError 422 */
function checkCopy(source: Droplet, app: App): void {
  const { spec } = source;
  if (dropletState(source) !== "STAGED") throw unprocessable("source droplet is not staged");
  if (spec.lifecycleType !== app.spec.lifecycle.type)
    throw unprocessable("source and destination lifecycle types do not match");
}

async function copyArtifact(
  session: Session,
  { blobs, images }: DropletStores,
  source: Droplet,
  app: App,
): Promise<Partial<Droplet["spec"]>> {
  const { kind, image, root } = source.spec;
  if (kind === "host")
    return root === undefined ? copyFile(session, blobs, source, app) : copyContent(session, blobs, source, app);
  if (kind === "docker" || image === undefined || source.metadata.namespace === app.metadata.namespace) return {};
  if (!images)
    throw unprocessable("A built image belongs to its space: copy the package to the other app, and stage it there.");
  const to = { space: spaceGUIDOf(session, app), app: session.cache.guid(App, app), droplet: newGUID() };
  return { image: await images.copyDroplet({ space: spaceGUIDOf(session, source), image }, to) };
}

/** The platform makes an image of the copy. */
async function copyFile(
  session: Session,
  blobs: BlobStore,
  source: Droplet,
  app: App,
): Promise<Pick<Droplet["spec"], "content">> {
  const { content } = source.spec;
  if (!content) throw unprocessable("source droplet is not staged");
  const [from, to] = [spaceGUIDOf(session, source), spaceGUIDOf(session, app)];
  if (from !== to) await blobs.copy({ space: from, digest: content.digest }, to, "droplet");
  return { content };
}

/** The copy gets a root of its own: two apps never share a folder. */
async function copyContent(
  session: Session,
  blobs: BlobStore,
  source: Droplet,
  app: App,
): Promise<Pick<Droplet["spec"], "content" | "root">> {
  const { content, root: from } = source.spec;
  if (!content || from === undefined) throw unprocessable("source droplet is not staged");
  const root = join(dirname(from), newGUID());
  const space = spaceGUIDOf(session, app);
  const scratch = await processScratch.open(space, session.signal);
  try {
    const bits = () => blobs.open(spaceGUIDOf(session, source), content.digest);
    return { root, content: await receiveDroplet(blobs, { space, bits, place: { root }, from, scratch }) };
  } catch (error) {
    // A stored droplet may name another root than it knows, or have grown beyond a limit since.
    if (error instanceof ArchiveRejected || error instanceof BlobTooLarge)
      throw unprocessable(
        `The source droplet cannot be copied: ${error.message}. Copy the package to the other app, and stage it there.`,
        { cause: error },
      );
    throw error;
  } finally {
    await scratch.remove();
  }
}
