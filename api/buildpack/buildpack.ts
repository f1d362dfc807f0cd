// Endpoints of Buildpack: `/v3/buildpacks`.
import { UPLOAD_DEADLINE_MS } from "../../crds/upload-deadline.ts";
import { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { newGUID } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import { objectNameFor } from "../../crds/object-names.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { accepted, created, endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import { newDeletionJob, newJob } from "../jobs/jobs.ts";
import type { Session } from "../access/session.ts";
import { listObjects, isOneOf } from "../lists/list-objects.ts";
import { findStack } from "../cf/app/lifecycle.ts";
import { toMetadataPatch, metadataForCreate } from "../http/metadata.ts";
import { presentPage } from "../lists/page.ts";
import type { Services } from "../routing/services.ts";
import {
  buildpackListQuery,
  createBuildpackBody,
  isSameBuildpack,
  sameBuildpackText,
  updateBuildpackBody,
  type BuildpackIdentity,
  type CreateBuildpack,
} from "./payload.ts";
import { planPositions } from "./positions.ts";
import { presentBuildpack } from "./present.ts";
import { BuildpackRejected, storeBuildpack } from "./upload.ts";

const path = "/v3/buildpacks/:guid";

function byPosition({ spec }: Buildpack): string {
  return `${spec.lifecycle} ${String(spec.position).padStart(6, "0")} ${spec.name}`;
}

function othersOf({ cache }: Session, lifecycle: Buildpack["spec"]["lifecycle"], self?: Buildpack): Buildpack[] {
  return cache
    .store(Buildpack)
    .list()
    .filter(({ spec, metadata }) => spec.lifecycle === lifecycle && metadata.uid !== self?.metadata.uid);
}

/** @throws CFError 422 when the stack does not exist, or another buildpack is the same */
function checkIdentity(session: Session, wanted: BuildpackIdentity, self?: Buildpack): void {
  const { stack, lifecycle } = wanted;
  if (stack !== undefined && !findStack(session.cache, stack)) throw unprocessable(`Stack '${stack}' does not exist`);
  if (othersOf(session, lifecycle, self).some(({ spec }) => isSameBuildpack(spec, wanted)))
    throw unprocessable(sameBuildpackText(wanted));
}

/** Moves one buildpack, and the others of its lifecycle out of its way. Returns the moved one. */
async function move(session: Session, self: Buildpack, wanted: number): Promise<Buildpack> {
  const others = othersOf(session, self.spec.lifecycle, self);
  const plan = planPositions([...others.map(toPositioned)], { name: self.metadata.name, wanted });
  const objects = new Map([...others, self].map((one) => [one.metadata.name, one]));
  for (const { name, position } of plan) {
    const object = objects.get(name);
    if (object && object.spec.position !== position)
      objects.set(name, await session.patch(Buildpack, object, { type: "merge", body: { spec: { position } } }));
  }
  return objects.get(self.metadata.name) ?? self;
}

function toPositioned({ metadata, spec }: Buildpack): { name: string; position: number } {
  return { name: metadata.name, position: spec.position };
}

async function createBuildpack(session: Session, body: CreateBuildpack): Promise<Buildpack> {
  session.authorize({ verb: "create", on: Buildpack, namespace: SYSTEM_NAMESPACE });
  const stack = body.stack ?? undefined;
  const identity = { name: body.name, lifecycle: body.lifecycle ?? "buildpack", ...(stack && { stack }) } as const;
  checkIdentity(session, identity);
  const { labels, annotations } = metadataForCreate(body.metadata);
  const isTaken = (name: string): boolean =>
    session.cache.store(Buildpack).find({ namespace: SYSTEM_NAMESPACE, name }) !== undefined;
  const made = await session.create(
    Buildpack,
    {
      metadata: {
        name: objectNameFor(body.name, "buildpack", isTaken),
        namespace: SYSTEM_NAMESPACE,
        labels: { ...labels, [LABELS.guid]: newGUID() },
        annotations,
      },
      spec: {
        ...identity,
        // At the end until the others have made room.
        position: othersOf(session, identity.lifecycle).length + 1,
        enabled: body.enabled ?? true,
        locked: body.locked ?? false,
      },
    },
    () => unprocessable(sameBuildpackText(identity)),
  );
  return move(session, made, body.position ?? 1);
}

/** The changed fields of the spec. @throws CFError 422 */
function toPatch(session: Session, buildpack: Buildpack, body: { name?: string; stack?: string | null }): object {
  const { spec } = buildpack;
  const isStackChanged = body.stack !== undefined && (body.stack ?? undefined) !== spec.stack;
  if (isStackChanged && spec.stack !== undefined) throw unprocessable("Buildpack stack cannot be changed");
  const wanted = { ...spec, name: body.name ?? spec.name, ...(body.stack && { stack: body.stack }) };
  if (wanted.name !== spec.name || isStackChanged) checkIdentity(session, wanted, buildpack);
  return omitUndefined({ name: body.name, ...(isStackChanged && { stack: body.stack }) });
}

const reads: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/buildpacks",
    permission: "authenticated",
    lists: [Buildpack],
    query: buildpackListQuery,
    summary: "List buildpacks",
    handler: ({ session, query, base, url }) => {
      const found = listObjects(session, Buildpack, query, {
        url,
        filter: ({ spec }) =>
          isOneOf(query.names, spec.name) &&
          isOneOf(query.stacks, spec.stack ?? "") &&
          (query.lifecycle === undefined || spec.lifecycle === query.lifecycle),
        defaultSortKey: byPosition,
        sortKeys: { position: ({ spec }) => String(spec.position).padStart(6, "0"), lifecycle: byPosition },
      });
      return ok(
        presentPage(found, { base, url, query }, (buildpack) => presentBuildpack(session.cache, buildpack, base)),
      );
    },
  }),
  endpoint({
    method: "GET",
    path,
    permission: { verb: "get", on: Buildpack },
    summary: "Get a buildpack",
    handler: ({ session, params, base }) =>
      ok(presentBuildpack(session.cache, session.get(Buildpack, params.guid), base)),
  }),
];

const writes: readonly Endpoint[] = [
  endpoint({
    method: "POST",
    path: "/v3/buildpacks",
    permission: { verb: "create", on: Buildpack },
    asks: [{ verb: "patch", on: Buildpack }],
    body: createBuildpackBody,
    summary: "Create a buildpack",
    handler: async ({ session, body, base }) =>
      created(presentBuildpack(session.cache, await createBuildpack(session, body), base)),
  }),
  endpoint({
    method: "PATCH",
    path,
    permission: { verb: "patch", on: Buildpack },
    body: updateBuildpackBody,
    summary: "Change a buildpack",
    handler: async ({ session, params, body, base }) => {
      const buildpack = session.get(Buildpack, params.guid);
      const { position, enabled, locked, metadata } = body;
      const identity = toPatch(session, buildpack, omitUndefined({ name: body.name ?? undefined, stack: body.stack }));
      const patched = await session.patch(Buildpack, buildpack, {
        type: "merge",
        body: {
          metadata: toMetadataPatch(metadata, buildpack),
          spec: { ...identity, ...omitUndefined({ enabled, locked }) },
        },
      });
      const after = position === undefined ? patched : await move(session, patched, position);
      return ok(presentBuildpack(session.cache, after, base));
    },
  }),
  endpoint({
    method: "DELETE",
    path,
    permission: { verb: "delete", on: Buildpack },
    asks: [{ verb: "patch", on: Buildpack }],
    summary: "Delete a buildpack",
    handler: async ({ session, params }) => {
      const buildpack = session.get(Buildpack, params.guid);
      const { builder, name: named } = buildpack.spec;
      if (builder !== undefined)
        throw unprocessable(
          `Buildpack '${named}' is part of the builder image of class ${builder}: disable it instead, by cf update-buildpack ${named} --disable`,
        );
      const others = othersOf(session, buildpack.spec.lifecycle, buildpack);
      await session.delete(Buildpack, buildpack);
      for (const { name, position } of planPositions(others.map(toPositioned))) {
        const object = others.find(({ metadata }) => metadata.name === name);
        if (object) await session.patch(Buildpack, object, { type: "merge", body: { spec: { position } } });
      }
      return accepted(await newDeletionJob(session, Buildpack, params.guid));
    },
  }),
];

/** Endpoints of buildpacks; uploads go to the blob store. */
export function buildpackEndpoints({ blobs }: Pick<Services, "blobs">): readonly Endpoint[] {
  const upload = endpoint({
    method: "POST",
    path: `${path}/upload`,
    permission: { verb: "patch", on: Buildpack },
    bodyFormat: "multipart",
    timeoutMs: UPLOAD_DEADLINE_MS,
    summary: "Upload a buildpack: the archive of a Cloud Native Buildpack's folder",
    handler: async ({ session, params, base, request, signal }) => {
      const buildpack = session.get(Buildpack, params.guid);
      if (buildpack.spec.locked) throw unprocessable("Buildpack is locked");
      const reply = async (after: Buildpack, errors?: string[]) =>
        accepted(
          await newJob(session, "buildpack.upload", params.guid, errors),
          presentBuildpack(session.cache, after, base),
        );
      try {
        const { content, filename } = await storeBuildpack(blobs, buildpack.spec.lifecycle, request, signal);
        return await reply(
          await session.patch(Buildpack, buildpack, {
            type: "merge",
            // A buildpack of the builder image becomes an uploaded one.
            body: { spec: { content, filename, path: null, builder: null } },
          }),
        );
      } catch (error) {
        if (!(error instanceof BuildpackRejected)) throw error;
        return reply(buildpack, [error.message]);
      }
    },
  });
  return [...reads, ...writes, upload];
}
