// Endpoints of Droplet: `/v3/droplets`, and the droplets of an app and of a package.
import { UPLOAD_DEADLINE_MS } from "../../crds/upload-deadline.ts";
import { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Package } from "../../crds/package/package.ts";
import { accepted, created, endpoint, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import { notFound, unprocessable } from "../http/errors.ts";
import { newDeletionJob, newJob } from "../jobs/jobs.ts";
import { appGUIDOf, appKey, appOf } from "../cf/app/owner-app.ts";
import { currentDroplet } from "../cf/app/current-droplet.ts";
import { toBlobReply } from "../routing/blob-reply.ts";
import { listObjects, isOneOf } from "../lists/list-objects.ts";
import { patchMetadata } from "../cf/patch-metadata.ts";
import { presentPage } from "../lists/page.ts";
import { metadataOnlySchema } from "../http/shared-schemas.ts";
import { spaceNamespaces } from "../cf/org/org-and-space-namespaces.ts";
import { csv, csvOf, listQuery } from "../http/query.ts";
import type { Services } from "../routing/services.ts";
import type { Session } from "../access/session.ts";
import { parseBody } from "../http/validation.ts";
import { shownAs } from "../http/shown-as.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import {
  copyDroplet,
  copyDropletBody,
  createDroplet,
  createDropletBody,
  createDropletQuery,
  newDropletLocation,
  spaceGUIDOf,
  untilStored,
  type DropletStores,
} from "./create.ts";
import { storeDroplet } from "./upload.ts";
import { DROPLET_STATES, dropletState } from "../cf/droplet/droplet-state.ts";
import { redactionFor, presentDroplet } from "./present.ts";
import { APP_SECRETS } from "../cf/app/app-secrets.ts";

const path = "/v3/droplets/:guid";
const read = { verb: "get", on: Droplet } as const;
const states = csvOf(...DROPLET_STATES).optional();
const dropletListQuery = listQuery({
  app_guids: csv.optional(),
  space_guids: csv.optional(),
  organization_guids: csv.optional(),
  states,
});
const current = z.literal("true", { error: "only accepts the value 'true'" }).optional();
const ofAppQuery = listQuery({ states, current });
const ofPackageQuery = listQuery({ states });

interface ListRequest {
  session: Session;
  query: z.output<typeof dropletListQuery>;
  base: string;
  url: string;
}

interface Narrower {
  app?: App;
  where?: (droplet: Droplet) => boolean;
}

function listReply({ session, query, base, url }: ListRequest, { app, where = () => true }: Narrower = {}): Reply {
  const namespaces = spaceNamespaces(session, query);
  const within = app ? { index: ["app", appKey(app)] as const } : namespaces && { namespaces };
  const found = listObjects(session, Droplet, query, {
    url,
    ...(within && { scope: within }),
    filter: (droplet) =>
      where(droplet) &&
      isOneOf(query.states, dropletState(droplet)) &&
      isOneOf(query.app_guids, appGUIDOf(session.cache, droplet)),
    dependsOn: [App, Package],
  });
  return ok(
    presentPage(found, { base, url, query }, (droplet) =>
      presentDroplet(session.cache, droplet, base, "[PRIVATE DATA HIDDEN IN LISTS]"),
    ),
  );
}

function present(session: Session, droplet: Droplet, base: string): Reply {
  return ok(presentDroplet(session.cache, droplet, base, redactionFor(session, droplet)));
}

const rows: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/droplets",
    permission: "authenticated",
    lists: [Droplet],
    query: dropletListQuery,
    summary: "List droplets",
    handler: (request) => listReply(request),
  }),
  endpoint({
    method: "GET",
    path: "/v3/apps/:guid/droplets",
    permission: read,
    query: ofAppQuery,
    summary: "List droplets of an app",
    handler: (request) => {
      const app = request.session.get(App, request.params.guid);
      const current = app.spec.droplet?.name;
      return listReply(request, {
        app,
        ...(request.query.current && { where: (droplet) => droplet.metadata.name === current }),
      });
    },
  }),
  endpoint({
    method: "GET",
    path: "/v3/packages/:guid/droplets",
    permission: read,
    query: ofPackageQuery,
    summary: "List droplets of a package",
    handler: (request) => {
      const found = request.session.get(Package, request.params.guid);
      const app = appOf(request.session.cache, found);
      return listReply(request, {
        ...(app && { app }),
        where: (droplet) =>
          droplet.spec.packageRef?.name === found.metadata.name &&
          droplet.metadata.namespace === found.metadata.namespace,
      });
    },
  }),
  endpoint({
    method: "GET",
    path: "/v3/apps/:guid/droplets/current",
    permission: read,
    asks: [APP_SECRETS],
    summary: "Get the current droplet",
    handler: ({ session, params, base }) => {
      const droplet = currentDroplet(session.cache, session.get(App, params.guid));
      if (!droplet || !session.canSee(Droplet, droplet)) throw notFound("Droplet");
      return present(session, droplet, base);
    },
  }),
  endpoint({
    method: "GET",
    path,
    permission: read,
    asks: [APP_SECRETS],
    summary: "Get a droplet",
    handler: ({ session, params, base }) => present(session, session.get(Droplet, params.guid), base),
  }),
  endpoint({
    method: "PATCH",
    path,
    permission: { verb: "patch", on: Droplet },
    asks: [APP_SECRETS],
    body: metadataOnlySchema,
    summary: "Update a droplet's metadata",
    handler: async ({ session, params, body, base }) => {
      const droplet = session.get(Droplet, params.guid);
      return present(session, await patchMetadata(session, Droplet, droplet, body.metadata), base);
    },
  }),
  endpoint({
    method: "DELETE",
    path,
    permission: { verb: "delete", on: Droplet },
    summary: "Delete a droplet",
    handler: async ({ session, params }) => {
      const droplet = session.get(Droplet, params.guid);
      const app = appOf(session.cache, droplet);
      if (app?.spec.droplet?.name === droplet.metadata.name)
        throw unprocessable("The droplet is currently in use by an app. Unassign it first.");
      await session.delete(Droplet, droplet);
      return accepted(await newDeletionJob(session, Droplet, session.cache.guid(Droplet, droplet)));
    },
  }),
];

function createRow(stores: DropletStores): Endpoint {
  return endpoint({
    method: "POST",
    path: "/v3/droplets",
    permission: { verb: "create", on: Droplet },
    query: createDropletQuery,
    // The query decides which schema validates the body: create or copy.
    body: shownAs(z.looseObject({}), createDropletBody),
    timeoutMs: UPLOAD_DEADLINE_MS,
    summary: "Create a droplet to upload, or copy one",
    handler: async ({ session, query, body, base }) => {
      const made =
        query.source_guid === undefined
          ? await createDroplet(session, parseBody(createDropletBody, body))
          : await copyDroplet(session, stores, {
              sourceGUID: query.source_guid,
              appGUID: parseBody(copyDropletBody, body).relationships.app.data.guid,
            });
      return created(presentDroplet(session.cache, made, base));
    },
  });
}

/** @throws CFError 422 for a droplet that was uploaded or built */
function requireAwaitingUpload(droplet: Droplet): void {
  if (dropletState(droplet) !== "AWAITING_UPLOAD")
    throw unprocessable("Droplet may be uploaded only once. Create a new droplet to upload bits.");
}

function uploadRow(blobs: Services["blobs"]): Endpoint {
  return endpoint({
    method: "POST",
    path: `${path}/upload`,
    permission: { verb: "update", on: Droplet, subresource: "content" },
    asks: [{ verb: "patch", on: Droplet }],
    bodyFormat: "multipart",
    timeoutMs: UPLOAD_DEADLINE_MS,
    summary: "Upload a droplet",
    handler: async ({ session, params, base, request, signal }) => {
      const droplet = session.get(Droplet, params.guid);
      session.authorize(contentRight("update", droplet));
      requireNotSuspended(session, droplet.metadata.namespace ?? "");
      requireAwaitingUpload(droplet);
      const place = newDropletLocation(session);
      const content = await storeDroplet(blobs, { space: spaceGUIDOf(session, droplet), place }, request, signal);
      const uploaded = await session.patchWithRetry(Droplet, droplet, (current) => {
        requireAwaitingUpload(current);
        return { spec: { content, ...("root" in place && { root: place.root }) } };
      });
      const stored = await untilStored(session, uploaded);
      await session.publishObserved([Droplet]);
      const job = await newJob(session, "droplet.upload", params.guid);
      return accepted(job, presentDroplet(session.cache, stored, base));
    },
  });
}

const contentRight = (verb: "get" | "update", { metadata }: Droplet) =>
  ({ verb, on: Droplet, subresource: "content", namespace: metadata.namespace ?? "", name: metadata.name }) as const;

/** @throws CFError 422 */
function requireDownloadable(droplet: Droplet): void {
  if (droplet.spec.lifecycleType === "docker") throw unprocessable("Cannot download droplets with 'docker' lifecycle.");
  if (dropletState(droplet) !== "STAGED") throw unprocessable("Only staged droplets can be downloaded.");
}

/** The file that was uploaded, or an image's files as one. */
async function openDroplet(session: Session, { blobs, images }: DropletStores, droplet: Droplet): Promise<Reply> {
  const { content, kind, image } = droplet.spec;
  if (kind === "host" && content) return toBlobReply(blobs, spaceGUIDOf(session, droplet), content.digest);
  const body =
    kind === "cnb" && image !== undefined
      ? await images?.openDroplet({ space: spaceGUIDOf(session, droplet), image })
      : undefined;
  if (!body) throw unprocessable("Cannot download droplets that are images: pull the image instead.");
  return { status: 200, body, contentType: "application/octet-stream" };
}

/** Endpoints of droplets; their files are in the blob store, or in images. */
export function dropletEndpoints(stores: Services): readonly Endpoint[] {
  const download = endpoint({
    method: "GET",
    path: `${path}/download`,
    permission: { verb: "get", on: Droplet, subresource: "content" },
    timeoutMs: UPLOAD_DEADLINE_MS,
    summary: "Download a droplet",
    handler: async ({ session, params }) => {
      const droplet = session.get(Droplet, params.guid);
      session.authorize(contentRight("get", droplet));
      requireDownloadable(droplet);
      const app = appOf(session.cache, droplet);
      if (app) session.recordAppEvent("droplet.download", app, { droplet_guid: params.guid });
      return openDroplet(session, stores, droplet);
    },
  });
  return [...rows, createRow(stores), uploadRow(stores.blobs), download];
}
