// Endpoints of Package: `/v3/packages`, upload and download.
import { UPLOAD_DEADLINE_MS } from "../../crds/upload-deadline.ts";
import { App } from "../../crds/app/app.ts";
import { Package } from "../../crds/package/package.ts";
import { Secret } from "../../kube/api/builtin.ts";
import { defaultZipLimits } from "../../blobs/archive/zip.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import { toZip } from "../../blobs/package/package-zip.ts";
import { accepted, created, endpoint, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import { CFError, unprocessable } from "../http/errors.ts";
import { newDeletionJob } from "../jobs/jobs.ts";
import { requireFlag } from "../cf/feature-flags.ts";
import { appGUIDOf, appOf, resolveApp, appKey, nameFromGUID, appOwnerReferences } from "../cf/app/owner-app.ts";
import { listObjects, isOneOf } from "../lists/list-objects.ts";
import { patchMetadata } from "../cf/patch-metadata.ts";
import { listKnownPackages, UPLOADED_PACKAGES } from "../cf/package/known-packages.ts";
import { parseBody } from "../http/validation.ts";
import { toPackageState } from "../cf/package/package-state.ts";
import { presentPage } from "../lists/page.ts";
import { metadataOnlySchema } from "../http/shared-schemas.ts";
import { shownAs } from "../http/shown-as.ts";
import { spaceNamespaces } from "../cf/org/org-and-space-namespaces.ts";
import { newGUID } from "../../crds/guid.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import type { Services } from "../routing/services.ts";
import { accessSecret } from "../access/rbac-lag.ts";
import { writeAllOrNone } from "../access/rehearsal.ts";
import type { Session } from "../access/session.ts";
import { z } from "zod";
import {
  appPackageListQuery,
  copyPackageBody,
  createPackageBody,
  createPackageQuery,
  packageListQuery,
  toPackage,
  toPackageSpec,
  type CreatePackage,
} from "./payload.ts";
import { presentPackage } from "./present.ts";
import { copyPackage, spaceGUID } from "./copy.ts";
import { storeUpload } from "./upload.ts";

const path = "/v3/packages/:guid";

interface ListRequest {
  session: Session;
  query: z.output<typeof appPackageListQuery> &
    Pick<z.output<typeof packageListQuery>, "app_guids" | "space_guids" | "organization_guids">;
  base: string;
  url: string;
}

function listReply({ session, query, base, url }: ListRequest, app?: App): Reply {
  const namespaces = spaceNamespaces(session, query);
  const within = app ? { index: ["app", appKey(app)] as const } : namespaces && { namespaces };
  const found = listObjects(session, Package, query, {
    url,
    ...(within && { scope: within }),
    filter: (one) =>
      isOneOf(query.states, toPackageState(one)) &&
      isOneOf(query.types, one.spec.type) &&
      isOneOf(query.app_guids, appGUIDOf(session.cache, one)),
    dependsOn: [App],
  });
  return ok(presentPage(found, { base, url, query }, (one) => presentPackage(session.cache, one, base)));
}

const rows: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/packages",
    permission: "authenticated",
    lists: [Package],
    query: packageListQuery,
    summary: "List packages",
    handler: (request) => listReply(request),
  }),
  endpoint({
    method: "GET",
    path: "/v3/apps/:guid/packages",
    permission: { verb: "get", on: Package },
    query: appPackageListQuery,
    summary: "List packages of an app",
    handler: (request) => listReply(request, request.session.get(App, request.params.guid)),
  }),
  endpoint({
    method: "GET",
    path,
    permission: { verb: "get", on: Package },
    summary: "Get a package",
    handler: async ({ session, params, base }) => {
      const found = (): Package => session.get(Package, params.guid);
      await session.holdWhile([Package], () => toPackageState(found()) === "PROCESSING_UPLOAD");
      return ok(presentPackage(session.cache, found(), base));
    },
  }),
  endpoint({
    method: "PATCH",
    path,
    permission: { verb: "patch", on: Package },
    body: metadataOnlySchema,
    summary: "Update a package's metadata",
    handler: async ({ session, params, body, base }) => {
      const found = session.get(Package, params.guid);
      return ok(presentPackage(session.cache, await patchMetadata(session, Package, found, body.metadata), base));
    },
  }),
  endpoint({
    method: "DELETE",
    path,
    permission: { verb: "delete", on: Package },
    summary: "Delete a package",
    handler: async ({ session, params }) => {
      const found = session.get(Package, params.guid);
      await session.delete(Package, found);
      return accepted(await newDeletionJob(session, Package, session.cache.guid(Package, found)));
    },
  }),
];

function createRow(blobs: BlobStore): Endpoint {
  return endpoint({
    method: "POST",
    path: "/v3/packages",
    permission: { verb: "create", on: Package },
    asks: [
      { verb: "get", on: Package, subresource: "content" },
      { verb: "update", on: Package, subresource: "content" },
    ],
    query: createPackageQuery,
    // The query decides which schema validates the body: create or copy.
    body: shownAs(z.looseObject({}), createPackageBody),
    timeoutMs: UPLOAD_DEADLINE_MS,
    summary: "Create a package, or copy one",
    handler: async ({ session, query, body, base }) => {
      const made =
        query.source_guid === undefined
          ? await createPackage(session, parseBody(createPackageBody, body))
          : await waitUntilVerified(
              session,
              await copyPackage(session, blobs, {
                sourceGUID: query.source_guid,
                appGUID: parseBody(copyPackageBody, body).relationships.app.data.guid,
              }),
            );
      return created(presentPackage(session.cache, made, base));
    },
  });
}

async function createPackage(session: Session, body: CreatePackage): Promise<Package> {
  const app = resolveApp(session, body.relationships.app.data.guid);
  const isDockerApp = app.spec.lifecycle.type === "docker";
  if (body.type === "bits" && isDockerApp) throw unprocessable("Cannot create bits package for a Docker app.");
  if (body.type === "docker" && !isDockerApp) throw unprocessable("Cannot create Docker package for a buildpack app.");
  return writeAllOrNone(session, [Package], async (writer) => {
    const secret = await keepCredentials(writer, app, body);
    return writer.create(Package, toPackage(writer.cache, app, toPackageSpec(body, secret), body.metadata));
  });
}

/** A pull Secret for the image's credentials, which never appear in the Package. */
async function keepCredentials(session: Session, app: App, body: CreatePackage): Promise<string | undefined> {
  if (body.type !== "docker" || !body.data.username || !body.data.password) return undefined;
  const namespace = app.metadata.namespace ?? "";
  session.authorize({ verb: "create", on: Package, namespace });
  requireNotSuspended(session, namespace);
  const name = `${nameFromGUID(app, newGUID())}-pull`.slice(-63).replace(/^-+/, "");
  const registry = registryOf(body.data.image);
  const auth = Buffer.from(`${body.data.username}:${body.data.password}`).toString("base64");
  const config = JSON.stringify({
    auths: { [registry]: { username: body.data.username, password: body.data.password, auth } },
  });
  const metadata = { name, namespace, ownerReferences: appOwnerReferences(app) };
  const { signal, platformClient } = session;
  const draft = {
    metadata,
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from(config).toString("base64") },
  };
  await accessSecret(() => platformClient.create(Secret, draft, { signal }), signal);
  return name;
}

/** The registry of an image reference; Docker Hub when it names none. */
function registryOf(image: string): string {
  const [first = ""] = image.split("/");
  const isHost = image.includes("/") && (first.includes(".") || first.includes(":") || first === "localhost");
  return isHost ? first : "https://index.docker.io/v1/";
}

/** Endpoints of packages; uploads go to the blob store. */
export function packageEndpoints({ blobs }: Services): readonly Endpoint[] {
  return [...rows, createRow(blobs), uploadRow(blobs), downloadRow(blobs)];
}

const contentRight = (verb: "get" | "update", found: Package) =>
  ({
    verb,
    on: Package,
    subresource: "content",
    namespace: found.metadata.namespace ?? "",
    name: found.metadata.name,
  }) as const;

function uploadRow(blobs: BlobStore): Endpoint {
  return endpoint({
    method: "POST",
    path: `${path}/upload`,
    permission: { verb: "update", on: Package, subresource: "content" },
    asks: [
      { verb: "patch", on: Package },
      { verb: "get", on: Package, subresource: "content" },
    ],
    bodyFormat: "multipart",
    timeoutMs: UPLOAD_DEADLINE_MS,
    summary: "Upload bits",
    handler: async ({ session, params, base, request, signal }) => {
      const found = session.get(Package, params.guid);
      session.authorize(contentRight("update", found));
      requireNotSuspended(session, found.metadata.namespace ?? "");
      requireFlag(session, "app_bits_upload");
      if (found.spec.type !== "bits") throw unprocessable("Package type must be bits.");
      requireNoContent(found);
      const content = await storeUpload(
        blobs,
        { space: spaceGUID(session, found), sources: listKnownPackages(session, UPLOADED_PACKAGES) },
        request,
        signal,
      );
      const uploaded = await session.patchWithRetry(Package, found, (current) => {
        requireNoContent(current);
        return { spec: { content } };
      });
      return ok(presentPackage(session.cache, await waitUntilVerified(session, uploaded), base));
    },
  });
}

/** Waits a few seconds for a controller to verify content that was uploaded or copied, so that clients need not poll for READY. Returns the latest state. */
async function waitUntilVerified(session: Session, uploaded: Package): Promise<Package> {
  const { cache } = session;
  const current = (): Package => cache.store(Package).byUid(uploaded.metadata.uid ?? "") ?? uploaded;
  await session.holdWhile([Package], () => toPackageState(current()) === "PROCESSING_UPLOAD");
  await session.publishObserved([Package]);
  return current();
}

/** The first stored of several concurrent uploads wins. @throws CFError PackageBitsAlreadyUploaded */
function requireNoContent(found: Package): void {
  if (found.spec.content) throw new CFError("PackageBitsAlreadyUploaded");
}

function downloadRow(blobs: BlobStore): Endpoint {
  return endpoint({
    method: "GET",
    path: `${path}/download`,
    permission: { verb: "get", on: Package, subresource: "content" },
    timeoutMs: UPLOAD_DEADLINE_MS,
    summary: "Download bits",
    handler: async ({ session, params }) => {
      const found = session.get(Package, params.guid);
      session.authorize(contentRight("get", found));
      const { content } = found.spec;
      if (found.spec.type !== "bits") throw unprocessable("Package type must be bits.");
      if (!content) throw unprocessable("Package has no bits to download.");
      const app = appOf(session.cache, found);
      if (app) session.recordAppEvent("package.download", app, { package_guid: params.guid });
      const stored = await blobs.open(spaceGUID(session, found), content.digest);
      return { status: 200, body: toZip(stored, defaultZipLimits.maxUnpackedBytes), contentType: "application/zip" };
    },
  });
}
