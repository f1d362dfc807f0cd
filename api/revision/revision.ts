// Endpoints of Revision: `/v3/revisions`, and the revisions of an app.
import type { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Rollout } from "../../crds/rollout/rollout.ts";
import type { Session } from "../access/session.ts";
import { isOneOf, listObjects } from "../lists/list-objects.ts";
import { appKey, appOf } from "../cf/app/owner-app.ts";
import { toMetadataPatch } from "../http/metadata.ts";
import { processesOf } from "../cf/process/processes.ts";
import { toVersions } from "../cf/process/web-processes.ts";
import { deployableDroplet, releaseOf, releasesOf } from "../cf/rollout/app-revisions.ts";
import { readRevisionVariables } from "../cf/rollout/revision-env.ts";
import { endpoint, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import { notFound } from "../http/errors.ts";
import { presentPage } from "../lists/page.ts";
import { booleanText, csv, listQuery } from "../http/query.ts";
import { metadataOnlySchema } from "../http/shared-schemas.ts";
import { presentRevision, presentRevisionVariables } from "./present.ts";

const path = "/v3/revisions/:guid";
const read = { verb: "get", on: Revision } as const;

const revisionListQuery = listQuery({ versions: csv.optional(), deployable: booleanText.optional() });
const deployedListQuery = listQuery({}, { labels: false });

interface ListRequest {
  session: Session;
  params: { guid: string };
  query: z.output<typeof deployedListQuery> & Partial<z.output<typeof revisionListQuery>>;
  base: string;
  url: string;
}

/** Only those of `choose`, by default all that cf shows. */
function listReply(request: ListRequest, choose: (session: Session, app: App) => readonly Revision[]): Reply {
  const { session, params, query, base, url } = request;
  const app = session.get(App, params.guid);
  const chosen = new Set(choose(session, app));
  const found = listObjects(session, Revision, query, {
    scope: { index: ["app", appKey(app)] },
    filter: (revision) =>
      chosen.has(revision) &&
      isOneOf(query.versions, String(revision.spec.release)) &&
      (query.deployable === undefined ||
        query.deployable === (deployableDroplet(session.cache, revision) !== undefined)),
    dependsOn: [App, Droplet, Process, Rollout],
  });
  return ok(
    presentPage(inOrder(found, query.order_by), { base, url, query }, (revision) =>
      presentRevision(session.cache, revision, base),
    ),
  );
}

/** Versions decide between revisions of the same second. */
function inOrder(revisions: readonly Revision[], orderBy = "created_at"): readonly Revision[] {
  if (!orderBy.endsWith("created_at")) return revisions;
  const direction = orderBy.startsWith("-") ? -1 : 1;
  return revisions.toSorted((a, b) => direction * (a.spec.version - b.spec.version));
}

/** As cf shows them, of the processes of a started app. */
function listDeployed(session: Session, app: App): Revision[] {
  if (app.spec.state === "Stopped") return [];
  const versions = processesOf(session, app).flatMap((process) => toVersions(session.cache, process));
  const names = new Set([app.status?.revision, ...versions.map(({ status }) => status?.revision)]);
  return [...names].flatMap((name) => releaseOf(session.cache, app, name) ?? []);
}

/** @throws CFError `Revision not found` */
function getRevision(session: Session, guid: string): { revision: Revision; app: App } {
  const revision = session.get(Revision, guid);
  const app = appOf(session.cache, revision);
  if (!app || revision.spec.release === undefined) throw notFound("Revision");
  return { revision, app };
}

export const revisionEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/apps/:guid/revisions",
    permission: read,
    query: revisionListQuery,
    summary: "List revisions of an app",
    handler: (request) => listReply(request, (session, app) => releasesOf(session.cache, app)),
  }),
  endpoint({
    method: "GET",
    path: "/v3/apps/:guid/revisions/deployed",
    permission: read,
    query: deployedListQuery,
    summary: "List the revisions that an app's processes run",
    handler: (request) => listReply(request, listDeployed),
  }),
  endpoint({
    method: "GET",
    path,
    permission: read,
    summary: "Get a revision",
    handler: ({ session, params, base }) =>
      ok(presentRevision(session.cache, getRevision(session, params.guid).revision, base)),
  }),
  endpoint({
    method: "GET",
    path: `${path}/environment_variables`,
    permission: { verb: "get", on: Revision, subresource: "secrets" },
    summary: "Get the environment variables of a revision",
    handler: async ({ session, params, base }) => {
      const { revision, app } = getRevision(session, params.guid);
      const variables = await readRevisionVariables(session, app, revision);
      session.recordAppEvent("revision.environment_variables.show", app, {
        revision_guid: params.guid,
        revision_version: revision.spec.release,
      });
      const guids = { app: session.cache.guid(App, app), revision: params.guid };
      return ok(presentRevisionVariables(guids, { base, variables }));
    },
  }),
  endpoint({
    method: "PATCH",
    path,
    permission: { verb: "patch", on: Revision },
    body: metadataOnlySchema,
    summary: "Update a revision's metadata",
    handler: async ({ session, params, body, base }) => {
      const { revision } = getRevision(session, params.guid);
      const metadata = toMetadataPatch(body.metadata, revision);
      const after = await session.patch(Revision, revision, { type: "merge", body: { metadata } });
      return ok(presentRevision(session.cache, after, base));
    },
  }),
];
