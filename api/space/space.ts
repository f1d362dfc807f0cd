// Endpoints of Space: `/v3/spaces`, its features and its unmapped routes.
import { App } from "../../crds/app/app.ts";
import { displayNameOf, foldName, sortKeyOfName } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { Route } from "../../crds/route/route.ts";
import { SpaceQuota } from "../../crds/space-quota/space-quota.ts";
import { Space } from "../../crds/space/space.ts";
import { Namespace, RoleBinding } from "../../kube/api/builtin.ts";
import { rbacKinds } from "../cache/rbac-authorizer.ts";
import { accepted, created, endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { CFError, notFound, unprocessable } from "../http/errors.ts";
import { includedOrgs } from "../included/included.ts";
import { newDeletionJob, newJob } from "../jobs/jobs.ts";
import { listObjects, isOneOf } from "../lists/list-objects.ts";
import { presentPage } from "../lists/page.ts";
import { resolveOrg, orgNamespaces } from "../cf/org/org-and-space-namespaces.ts";
import { NAMESPACE_READY_TIMEOUT_MS, waitForCache } from "../cache/wait-for-cache.ts";
import type { Session } from "../access/session.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import {
  createSpaceBody,
  featureBody,
  spaceGetQuery,
  spaceListQuery,
  toSpace,
  toSpacePatch,
  unmappedQuery,
  updateSpaceBody,
} from "./payload.ts";
import { presentSpace, spaceTextKey } from "./present.ts";

const renamedToTaken = (session: Session, space: Space, name: string) => () => {
  const org = session.cache.orgOf(space.metadata.namespace);
  return unprocessable(`Organization '${org ? displayNameOf(org) : ""}' already contains a space with name '${name}'.`);
};
const nameTaken = () => unprocessable("Name must be unique per organization");
const path = "/v3/spaces/:guid";

function getSpace(session: Session, params: { guid: string }): Space {
  return session.get(Space, params.guid);
}

const list = endpoint({
  method: "GET",
  path: "/v3/spaces",
  permission: "authenticated",
  lists: [Space],
  query: spaceListQuery,
  summary: "List spaces",
  handler: ({ session, query, base, url }) => {
    const names = query.names?.map(foldName);
    const namespaces = orgNamespaces(session, query.organization_guids);
    const spaces = listObjects(session, Space, query, {
      url,
      ...(namespaces && { scope: { namespaces } }),
      filter: (space) =>
        isOneOf(names, foldName(displayNameOf(space))) && isOneOf(namespaces, space.metadata.namespace ?? ""),
      sortKeys: { name: sortKeyOfName },
      dependsOn: [Org, SpaceQuota, ...(query.include ? [OrgQuota] : [])],
    });
    const included = query.include
      ? (page: readonly Space[]) => ({
          organizations: includedOrgs(
            session,
            base,
            page.map((space) => space.metadata.namespace),
          ),
        })
      : undefined;
    return ok(
      presentPage(
        spaces,
        { base, url, query, isCacheable: true, textKey: (space) => spaceTextKey(session.cache, space, base) },
        (space) => presentSpace(session.cache, space, base),
        included,
      ),
    );
  },
});

const get = endpoint({
  method: "GET",
  path,
  permission: { verb: "get", on: Space },
  query: spaceGetQuery,
  summary: "Get a space",
  handler: ({ session, params, query, base }) => {
    const space = getSpace(session, params);
    const presented = presentSpace(session.cache, space, base);
    const organizations = query.include && includedOrgs(session, base, [space.metadata.namespace]);
    return ok(organizations ? { ...presented, included: { organizations } } : presented);
  },
});

const create = endpoint({
  method: "POST",
  path: "/v3/spaces",
  permission: { verb: "create", on: Space },
  body: createSpaceBody,
  summary: "Create a space",
  handler: async ({ session, body, base }) => {
    const { cache } = session;
    const { namespace } = resolveOrg(session, body.relationships.organization.data.guid);
    const draft = toSpace(body, namespace, (name) => cache.store(Space).find({ namespace, name }) !== undefined);
    const space = await session.create(Space, draft, nameTaken);
    const current = (): Space | undefined => cache.store(Space).byUid(space.metadata.uid ?? "");
    await waitForCache(
      cache,
      [Space, Namespace, RoleBinding],
      () => isUsable(session, current()),
      NAMESPACE_READY_TIMEOUT_MS,
    );
    await session.publishObserved([Space, Namespace, ...Object.values(rbacKinds)]);
    // The org may be deleted meanwhile.
    if (!cache.orgOf(namespace)) throw new CFError("ResourceBeingDeleted", "Organization");
    return created(presentSpace(cache, current() ?? space, base));
  },
});

/** Whether the client's next request in the space will work: the namespace exists, and the creator has permissions in it. */
function isUsable(session: Session, space: Space | undefined): boolean {
  const namespace = space?.status?.namespace;
  if (!space || namespace === undefined || !session.cache.store(Namespace).find({ name: namespace })) return false;
  return (
    session.allows({ verb: "get", on: App, namespace }) &&
    session.allows({ verb: "get", on: Space, namespace: space.metadata.namespace ?? "", name: space.metadata.name })
  );
}

const update = endpoint({
  method: "PATCH",
  path,
  permission: { verb: "patch", on: Space },
  body: updateSpaceBody,
  summary: "Update a space",
  handler: async ({ session, params, body, base }) => {
    const space = getSpace(session, params);
    const renamed =
      body.name === undefined
        ? undefined
        : {
            to: { ...space, spec: { ...space.spec, name: body.name } },
            taken: renamedToTaken(session, space, body.name),
          };
    return ok(
      presentSpace(
        session.cache,
        await session.patch(Space, space, { type: "merge", body: toSpacePatch(body, space) }, renamed),
        base,
      ),
    );
  },
});

const remove = endpoint({
  method: "DELETE",
  path,
  permission: { verb: "delete", on: Space },
  summary: "Delete a space and all in it",
  handler: async ({ session, params }) => {
    const space = getSpace(session, params);
    await session.delete(Space, space);
    return accepted(await newDeletionJob(session, Space, session.cache.guid(Space, space)));
  },
});

const removeUnmapped = endpoint({
  method: "DELETE",
  path: `${path}/routes`,
  permission: { verb: "delete", on: Route },
  query: unmappedQuery,
  badQueryError: "UnprocessableEntity",
  summary: "Delete routes without destinations",
  handler: async ({ session, params }) => {
    const space = getSpace(session, params);
    const { namespace = "" } = space.status ?? {};
    session.authorize({ verb: "delete", on: Route, namespace });
    requireNotSuspended(session, namespace);
    const orphans = session
      .list(Route, { namespaces: [namespace] })
      .filter((route) => route.spec.destinations.length === 0);
    for (const route of orphans) await session.delete(Route, route);
    return accepted(await newJob(session, "space.delete_unmapped_routes", session.cache.guid(Space, space)));
  },
});

const ssh = { name: "ssh", description: "Enable SSHing into apps in the space." };

function checkFeature(params: { name: string }): void {
  if (params.name !== ssh.name) throw notFound("Feature");
}

export const spaceEndpoints: readonly Endpoint[] = [
  list,
  get,
  create,
  update,
  remove,
  removeUnmapped,
  /** Not in CF. Those who may see a space may see which rules it breaks; constraints are other people's. */
  endpoint({
    method: "GET",
    path: `${path}/policy_violations`,
    permission: { verb: "get", on: Space },
    summary: "List the rules of operator policy that a space breaks itself",
    handler: ({ session, params }) => ok({ resources: getSpace(session, params).status?.policyViolations ?? [] }),
  }),
  endpoint({
    method: "GET",
    path: `${path}/features`,
    permission: { verb: "get", on: Space },
    summary: "List features of a space",
    handler: ({ session, params }) => ok({ resources: [{ ...ssh, enabled: getSpace(session, params).spec.allowSSH }] }),
  }),
  endpoint({
    method: "GET",
    path: `${path}/features/:name`,
    permission: { verb: "get", on: Space },
    summary: "Get a feature of a space",
    handler: ({ session, params }) => {
      const space = getSpace(session, params);
      checkFeature(params);
      return ok({ ...ssh, enabled: space.spec.allowSSH });
    },
  }),
  endpoint({
    method: "PATCH",
    path: `${path}/features/:name`,
    permission: { verb: "patch", on: Space },
    body: featureBody,
    summary: "Update a feature of a space",
    handler: async ({ session, params, body }) => {
      const space = getSpace(session, params);
      checkFeature(params);
      const made = await session.patch(Space, space, { type: "merge", body: { spec: { allowSSH: body.enabled } } });
      return ok({ ...ssh, enabled: made.spec.allowSSH });
    },
  }),
];
