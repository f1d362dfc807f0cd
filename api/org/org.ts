// Endpoints of Org: `/v3/organizations`.
import type { z } from "zod";
import { IsolationSegment } from "../../crds/isolation-segment/isolation-segment.ts";
import { foldName, displayNameOf, sortKeyOfName } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { Space } from "../../crds/space/space.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import { rbacKinds } from "../cache/rbac-authorizer.ts";
import type { Session } from "../access/session.ts";
import { accepted, created, endpoint, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import { newDeletionJob } from "../jobs/jobs.ts";
import { isAdmin } from "../access/is-admin.ts";
import { listObjects, isOneOf } from "../lists/list-objects.ts";
import { getVisibleSegment, isEntitled } from "../cf/org/isolation-segments.ts";
import { presentPage } from "../lists/page.ts";
import { NAMESPACE_READY_TIMEOUT_MS, waitForCache } from "../cache/wait-for-cache.ts";
import { createOrgBody, orgListQuery, toOrg, toOrgPatch, updateOrgBody } from "./payload.ts";
import { orgTextKey, presentOrg } from "./present.ts";

const renamedToTaken = (name: string) => () => unprocessable(`Organization name '${name}' is already taken.`);

/** As in CF, org names are case-insensitive. */
export const orgNameTaken = (name: string) => () => unprocessable(`Organization '${name}' already exists.`);

interface ListRequest {
  session: Session;
  query: z.output<typeof orgListQuery>;
  base: string;
  url: string;
}

/** All orgs, or those that may use a segment. */
function listReply({ session, query, base, url }: ListRequest, segment?: IsolationSegment): Reply {
  const names = query.names?.map(foldName);
  const orgs = listObjects(session, Org, query, {
    url,
    filter: (org) => isOneOf(names, foldName(displayNameOf(org))) && (!segment || isEntitled(org, segment)),
    sortKeys: { name: sortKeyOfName },
    dependsOn: [OrgQuota],
  });
  return ok(
    presentPage(
      orgs,
      { base, url, query, isCacheable: true, textKey: (org) => orgTextKey(session.cache, org, base) },
      (org) => presentOrg(session.cache, org, base),
    ),
  );
}

export const orgEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/organizations",
    permission: "authenticated",
    lists: [Org],
    query: orgListQuery,
    summary: "List organizations",
    handler: (request) => listReply(request),
  }),

  endpoint({
    method: "GET",
    path: "/v3/isolation_segments/:guid/organizations",
    permission: { verb: "get", on: IsolationSegment },
    lists: [Org],
    query: orgListQuery,
    summary: "List the organizations that may use an isolation segment",
    handler: (request) => listReply(request, getVisibleSegment(request.session, request.params.guid)),
  }),

  endpoint({
    method: "GET",
    path: "/v3/organizations/:guid",
    permission: { verb: "get", on: Org },
    summary: "Get an organization",
    handler: ({ session, params, base }) => ok(presentOrg(session.cache, session.get(Org, params.guid), base)),
  }),

  endpoint({
    method: "POST",
    path: "/v3/organizations",
    permission: { verb: "create", on: Org },
    body: createOrgBody,
    summary: "Create an organization",
    handler: async ({ session, body, base }) => {
      const { cache } = session;
      const draft = toOrg(
        body,
        (name) => cache.store(Org).find({ name }) !== undefined,
        isAdmin(session) ? undefined : session.caller.name,
      );
      const org = await session.create(Org, draft, orgNameTaken(body.name));
      const current = (): Org | undefined => cache.store(Org).byUid(org.metadata.uid ?? "");
      await waitForCache(
        cache,
        [Org, Namespace, ...Object.values(rbacKinds)],
        () => isUsable(current()),
        NAMESPACE_READY_TIMEOUT_MS,
      );
      await session.publishObserved([Org, Namespace, ...Object.values(rbacKinds)]);
      return created(presentOrg(cache, current() ?? org, base));

      function isUsable(seen: Org | undefined): boolean {
        const namespace = seen?.status?.namespace;
        if (!seen || namespace === undefined || !cache.store(Namespace).find({ name: namespace })) return false;
        return (
          session.allows({ verb: "get", on: Space, namespace }) &&
          session.allows({ verb: "update", on: Org, name: seen.metadata.name })
        );
      }
    },
  }),

  endpoint({
    method: "PATCH",
    path: "/v3/organizations/:guid",
    permission: { verb: "patch", on: Org },
    body: updateOrgBody,
    summary: "Update an organization",
    handler: async ({ session, params, body, base }) => {
      const org = session.get(Org, params.guid);
      const patch = toOrgPatch(body, org);
      const renamed =
        body.name === undefined
          ? undefined
          : { to: { ...org, spec: { ...org.spec, name: body.name } }, taken: renamedToTaken(body.name) };
      return ok(
        presentOrg(session.cache, await session.patch(Org, org, { type: "merge", body: patch }, renamed), base),
      );
    },
  }),

  endpoint({
    method: "DELETE",
    path: "/v3/organizations/:guid",
    permission: { verb: "delete", on: Org },
    summary: "Delete an organization and all in it",
    handler: async ({ session, params }) => {
      const org = session.get(Org, params.guid);
      await session.delete(Org, org);
      return accepted(await newDeletionJob(session, Org, session.cache.guid(Org, org)));
    },
  }),
];
