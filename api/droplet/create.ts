// Makes droplets without a build: for an upload, or as a copy of another app's.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { z } from "zod";
import { ArchiveRejected } from "../../blobs/archive/archive-path.ts";
import { BlobTooLarge, type BlobStore } from "../../blobs/blob-store.ts";
import { receiveDroplet } from "../../blobs/droplet/receive-droplet.ts";
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { newGUID } from "../../crds/guid.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { Session } from "../access/session.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import { newChildMetadata } from "../cf/app/owner-app.ts";
import { Space } from "../../crds/space/space.ts";
import { notFound, unprocessable } from "../http/errors.ts";
import { toOneSchema } from "../http/shared-schemas.ts";
import { dropletState } from "./present.ts";

const relationships = z.strictObject({ app: toOneSchema });
export const createDropletBody = z.strictObject({
  relationships,
  process_types: z
    .record(z.string().min(1, "key must not be empty"), z.string("value must be a string"), "must be an object")
    .nullish(),
});
export const copyDropletBody = z.strictObject({ relationships });
export const createDropletQuery = z.strictObject({ source_guid: z.string().optional() });

/** A folder of its own for a droplet's layers. @throws CFError 422 where nothing runs such droplets */
export function newRoot({ cache }: Session): string {
  const folder = cache
    .store(BackendClass)
    .list()
    .map(({ status }) => status?.capabilities?.["dropletFolder"])
    .find((found) => found !== undefined);
  if (folder === undefined)
    throw unprocessable(
      "Droplets cannot be uploaded or copied between spaces here: this platform runs images. Push the source or an image instead.",
    );
  return join(folder, newGUID());
}

/** The space's part of the blob store. */
export function spaceGUIDOf({ cache }: Session, { metadata }: App | Droplet): string {
  const space = cache.spaceOf(metadata.namespace);
  if (!space) throw notFound("Droplet");
  return cache.guid(Space, space);
}

function toDraft(app: App, spec: Partial<Droplet["spec"]>): Draft {
  return {
    metadata: newChildMetadata(app),
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
  newRoot(session);
  const processTypes = body.process_types ?? { web: "" };
  return session.create(
    Droplet,
    toDraft(app, { kind: "host", lifecycleType: type, ...(stack && { stack }), processTypes }),
  );
}

/** As in CF, a copy keeps the source's process types, stack and buildpacks. @throws CFError 404, 422 */
export async function copyDroplet(
  session: Session,
  blobs: BlobStore,
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
  const artifact = spec.kind === "host" ? await copyContent(session, blobs, source, app) : {};
  return session.create(
    Droplet,
    toDraft(app, { ...spec, ...(isSameSpace && imagePullSecretRef && { imagePullSecretRef }), ...artifact }),
  );
}

/** @throws CFError 422 */
function checkCopy(source: Droplet, app: App): void {
  const { spec, metadata } = source;
  if (dropletState(source) !== "STAGED") throw unprocessable("source droplet is not staged");
  if (spec.lifecycleType !== app.spec.lifecycle.type)
    throw unprocessable("source and destination lifecycle types do not match");
  if (spec.kind === "cnb" && metadata.namespace !== app.metadata.namespace)
    throw unprocessable("A built image belongs to its space: copy the package to the other app, and stage it there.");
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
  const scratch = await mkdtemp(join(tmpdir(), "cupola-droplet-"));
  try {
    const bits = await blobs.open(spaceGUIDOf(session, source), content.digest);
    return {
      root,
      content: await receiveDroplet(blobs, { space: spaceGUIDOf(session, app), bits, root, from, scratch }),
    };
  } catch (error) {
    // A stored droplet may name another root than it knows, or have grown beyond a limit since.
    if (error instanceof ArchiveRejected || error instanceof BlobTooLarge)
      throw unprocessable(
        `The source droplet cannot be copied: ${error.message}. Copy the package to the other app, and stage it there.`,
        { cause: error },
      );
    throw error;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
