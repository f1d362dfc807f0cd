// Endpoints of Build: `/v3/builds`.
import { MAX_BUILD_HOLD_MS } from "../cache/held-reads.ts";
import { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { Build } from "../../crds/build/build.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Package } from "../../crds/package/package.ts";
import type { Draft } from "../../kube/client/client.ts";
import { created, endpoint, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import { CFError, unprocessable } from "../http/errors.ts";
import { appGUIDOf, appKey, appOf, newChildMetadata } from "../cf/app/owner-app.ts";
import {
  checkStackState,
  findDisabledBuildpacks,
  installedInPlaceOf,
  lifecycleSchema,
  stackOf,
  toLifecycle,
  type LifecycleInput,
} from "../cf/app/lifecycle.ts";
import { listObjects, isOneOf } from "../lists/list-objects.ts";
import { metadataSchema } from "../http/metadata.ts";
import { patchMetadata } from "../cf/patch-metadata.ts";
import { toPackageState } from "../cf/package/package-state.ts";
import { presentPage } from "../lists/page.ts";
import { guidOf, metadataOnlySchema } from "../http/shared-schemas.ts";
import { csv, csvOf, listQuery } from "../http/query.ts";
import type { Session } from "../access/session.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import { buildState, presentBuild } from "./present.ts";

const path = "/v3/builds/:guid";
const megabytes = z.int().min(1, "must be greater than 0").max(4_194_304).nullish();

const NO_PACKAGE = {
  error: ({ code }: { code?: string }) =>
    code === "invalid_type"
      ? "guid can't be blank, Package guid must be a string, Package guid must be between 1 and 200 characters"
      : undefined,
};

const createBuildBody = z.strictObject({
  package: z.strictObject({ guid: guidOf("Package guid", { isRequired: true }) }, NO_PACKAGE),
  lifecycle: lifecycleSchema.optional(),
  staging_memory_in_mb: megabytes,
  staging_disk_in_mb: megabytes,
  staging_log_rate_limit_bytes_per_second: z.int().min(-1).nullish(),
  environment_variables: z.record(z.string(), z.unknown()).nullish(),
  metadata: metadataSchema.optional(),
});
const states = csvOf("STAGING", "STAGED", "FAILED").optional();
const buildListQuery = listQuery({
  states,
  app_guids: csv.optional(),
  package_guids: csv.optional(),
});
const appBuildListQuery = listQuery({ states });

interface ListRequest {
  session: Session;
  query: z.output<typeof appBuildListQuery> & Pick<z.output<typeof buildListQuery>, "app_guids" | "package_guids">;
  base: string;
  url: string;
}

function listReply({ session, query, base, url }: ListRequest, app?: App): Reply {
  const found = listObjects(session, Build, query, {
    url,
    ...(app && { scope: { index: ["app", appKey(app)] } }),
    filter: (build) =>
      isOneOf(query.states, buildState(session.cache, build)) &&
      isOneOf(query.app_guids, appGUIDOf(session.cache, build)) &&
      isOneOf(query.package_guids, packageGUIDOf(session, build)),
    dependsOn: [App, Package, Droplet],
  });
  return ok(presentPage(found, { base, url, query }, (build) => presentBuild(session.cache, build, base)));
}

function packageGUIDOf(session: Session, build: Build): string {
  const found = session.cache
    .store(Package)
    .find({ namespace: build.metadata.namespace ?? "", name: build.spec.packageRef.name });
  return found ? session.cache.guid(Package, found) : "";
}

const create = endpoint({
  method: "POST",
  path: "/v3/builds",
  permission: { verb: "create", on: Build },
  body: createBuildBody,
  summary: "Build a package",
  handler: async ({ session, body, base, warn }) => {
    const found = session.find(Package, body.package.guid);
    const app = found && appOf(session.cache, found);
    if (!found || !app)
      throw unprocessable("Unable to use package. Ensure that the package exists and you have access to it.");
    session.authorize({ verb: "create", on: Build, namespace: app.metadata.namespace ?? "" });
    requireNotSuspended(session, app.metadata.namespace);
    if (toPackageState(found) !== "READY")
      throw new CFError("BadRequest", "Cannot stage package whose state is not ready.");
    const running = session
      .list(Build, { index: ["app", appKey(app)] })
      .some((build) => build.status?.state !== "Staged" && build.status?.state !== "Failed");
    if (running) throw new CFError("StagingInProgress");
    checkStackOfBuild(session, app, body.lifecycle, warn);
    checkBuildpacks(session, app, body.lifecycle, warn);
    return created(
      presentBuild(session.cache, await session.create(Build, toBuild(session, app, { found, body })), base),
    );
  },
});

/** An app's first build is a new app to its stack. */
function checkStackOfBuild(
  { cache }: Session,
  app: App,
  lifecycle: LifecycleInput | undefined,
  warn: (text: string) => void,
): void {
  if ((lifecycle?.type ?? app.spec.lifecycle.type) === "docker") return;
  const use = cache.store(Build).byIndex("app", appKey(app)).length > 0 ? "restage" : "new";
  const name = lifecycle?.data?.stack ?? stackOf(cache, app);
  checkStackState(cache, { name, use, warn }, (text) => new CFError("StackValidationFailed", text));
}

/** Warns of what builds in place of a buildpack. @throws CFError BuildpackInvalid when the build names disabled buildpacks */
function checkBuildpacks(
  { cache }: Session,
  app: App,
  lifecycle: LifecycleInput | undefined,
  warn: (text: string) => void,
): void {
  const given = lifecycle ? lifecycle.type !== "docker" && lifecycle.data.buildpacks : app.spec.lifecycle.buildpacks;
  const names = (given || []).map((name) => installedInPlaceOf(cache, name) ?? name);
  for (const [at, name] of names.entries())
    if (given && name !== given[at])
      warn(`WARNING: The buildpack '${given[at]}' needs Cloud Foundry's containers. '${name}' builds the app instead.`);
  const disabled = findDisabledBuildpacks(cache, names).map((name) => `'${name}'`);
  if (disabled.length > 0)
    throw new CFError(
      "BuildpackInvalid",
      `Requested buildpack(s) ${disabled.join(", ")} are disabled and cannot be used for staging`,
    );
}

function toBuild(
  session: Session,
  app: App,
  { found, body }: { found: Package; body: z.output<typeof createBuildBody> },
): Draft {
  const { name } = session.caller;
  return {
    metadata: newChildMetadata(session.cache, app, body.metadata),
    spec: {
      appRef: { name: app.metadata.name },
      packageRef: { name: found.metadata.name },
      ...(body.lifecycle && { lifecycle: toLifecycle(session.cache, body.lifecycle) }),
      ...(body.staging_memory_in_mb && { memoryMB: body.staging_memory_in_mb }),
      ...(body.staging_disk_in_mb && { diskMB: body.staging_disk_in_mb }),
      createdBy: { guid: name, name },
    },
  };
}

export const buildEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/builds",
    permission: "authenticated",
    lists: [Build],
    query: buildListQuery,
    summary: "List builds",
    handler: (request) => listReply(request),
  }),
  endpoint({
    method: "GET",
    path: "/v3/apps/:guid/builds",
    permission: { verb: "get", on: Build },
    query: appBuildListQuery,
    summary: "List builds of an app",
    handler: (request) => listReply(request, request.session.get(App, request.params.guid)),
  }),
  endpoint({
    method: "GET",
    path,
    permission: { verb: "get", on: Build },
    summary: "Get a build",
    handler: async ({ session, params, base }) => {
      const build = (): Build => session.get(Build, params.guid);
      const isStaging = (): boolean => buildState(session.cache, build()) === "STAGING";
      await session.holdWhile([Build, Droplet], isStaging, MAX_BUILD_HOLD_MS);
      return ok(presentBuild(session.cache, build(), base));
    },
  }),
  create,
  endpoint({
    method: "PATCH",
    path,
    permission: { verb: "patch", on: Build },
    body: metadataOnlySchema,
    summary: "Update a build's metadata",
    handler: async ({ session, params, body, base }) => {
      const build = session.get(Build, params.guid);
      return ok(presentBuild(session.cache, await patchMetadata(session, Build, build, body.metadata), base));
    },
  }),
];
