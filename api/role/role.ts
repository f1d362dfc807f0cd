// Endpoints of roles: `/v3/roles`. RoleBindings are written as the caller, so RBAC's `bind` verb decides which roles a caller may give.
import { z } from "zod";
import { Org } from "../../crds/org/org.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { roleBindingName, CF_ROLES, toSubject, type CFRole } from "../../crds/roles.ts";
import { createdTimeOf } from "../../crds/origin.ts";
import { SpaceQuota } from "../../crds/space-quota/space-quota.ts";
import { Space } from "../../crds/space/space.ts";
import { User } from "../../crds/user/user.ts";
import { RoleBinding } from "../../kube/api/builtin.ts";
import { accepted, created, endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { notFound, unprocessable } from "../http/errors.ts";
import { includedOrgs, includedSpaces, includedUsers } from "../included/included.ts";
import { newJob } from "../jobs/jobs.ts";
import { rolesOf, type RoleAssignment } from "../../crds/role-assignments.ts";
import { toOwnName, toUserName } from "../cf/role/user-origin.ts";
import { removeRole } from "../cf/role/remove-role.ts";
import { findRole, listVisibleRoles, scopeOf } from "../cf/role/roles.ts";
import { requireFlag } from "../cf/feature-flags.ts";
import { isOneOf } from "../lists/list-objects.ts";
import { rememberedList } from "../lists/remembered-lists.ts";
import { presentPage } from "../lists/page.ts";
import { relatedGUID, toOneSchema } from "../http/shared-schemas.ts";
import { resolveOrg, resolveSpace } from "../cf/org/org-and-space-namespaces.ts";
import { csv, csvOf, include, listQuery } from "../http/query.ts";
import type { Session } from "../access/session.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import { presentRole } from "./present.ts";

const path = "/v3/roles/:guid";
const ALL_TYPES = [
  "organization_auditor",
  "organization_manager",
  "organization_billing_manager",
  "organization_user",
  "space_auditor",
  "space_manager",
  "space_developer",
  "space_supporter",
] as const;

const username = z.string().min(1).max(255).optional();
const user = z.strictObject({
  data: z.strictObject({ guid: relatedGUID.optional(), username, origin: z.string().nullish() }),
});
const createRoleBody = z
  .strictObject({
    type: z.enum(ALL_TYPES, { error: `must be one of the allowed types [${quoted(ALL_TYPES)}]` }),
    relationships: z.strictObject({ user, organization: toOneSchema.optional(), space: toOneSchema.optional() }),
  })
  .superRefine(({ type, relationships }, context) => {
    for (const problem of [...userProblems(relationships.user.data), ...scopeProblems(type, relationships)])
      context.addIssue({ code: "custom", message: `Relationships ${problem}`, params: { whole: true } });
  });
type CreateRole = z.output<typeof createRoleBody>;

const includes = include("user", "space", "organization").optional();
const roleGetQuery = z.strictObject({ include: includes });
const roleListQuery = listQuery(
  {
    types: csvOf(...ALL_TYPES).optional(),
    user_guids: csv.optional(),
    organization_guids: csv.optional(),
    space_guids: csv.optional(),
    include: includes,
  },
  { labels: false },
);

function quoted(types: readonly string[]): string {
  return types.map((type) => `"${type}"`).join(", ");
}

function* userProblems({ guid, username, origin }: z.output<typeof user>["data"]): Generator<string> {
  const isGuid = guid !== undefined;
  const isName = username !== undefined;
  if (isGuid && isName) yield "Username cannot be specified when identifying user by guid";
  if (isGuid && origin !== undefined) yield "User origin cannot be specified when identifying user by guid";
  if (!isName && origin !== undefined) yield "User origin cannot be specified without specifying the username";
  if (!isName && !isGuid) yield "User must have a username or guid specified";
}

function* scopeProblems(
  type: CFRole,
  { space, organization }: { space?: unknown; organization?: unknown },
): Generator<string> {
  const isOfSpace = CF_ROLES[type].scope === "space";
  if (!space && !organization) yield "must specify either a space or an organization.";
  if (space && !isOfSpace) yield `Space cannot be provided with the organization role type: '${type}'.`;
  if (organization && isOfSpace) yield `Organization cannot be provided with the space role type: '${type}'.`;
  if (space && organization) yield "cannot specify both an organization and a space.";
}

/** The org or space that the body names. @throws CFError 422 */
function resolveScope(session: Session, body: CreateRole): { namespace: string; name: string; title: string } {
  const { organization, space } = body.relationships;
  if (space) {
    const found = resolveSpace(session, space.data.guid);
    return { namespace: found.namespace, name: found.space.spec.name ?? found.space.metadata.name, title: "space" };
  }
  const found = resolveOrg(session, organization?.data.guid ?? "");
  return { namespace: found.namespace, name: found.org.spec.name ?? found.org.metadata.name, title: "organization" };
}

const create = endpoint({
  method: "POST",
  path: "/v3/roles",
  permission: { verb: "create", on: RoleBinding },
  body: createRoleBody,
  summary: "Create a role",
  handler: async ({ session, body, base }) => {
    const { type } = body;
    const { data } = body.relationships.user;
    if (data.username !== undefined) requireFlag(session, "set_roles_by_username");
    const name = requireUserName(session, data);
    const place = resolveScope(session, body);
    session.authorize({ verb: "create", on: RoleBinding, namespace: place.namespace });
    requireNotSuspended(session, place.namespace);
    const taken = () => unprocessable(`User '${name}' already has '${type}' role in ${place.title} '${place.name}'.`);
    if (listRolesIn(session, place.namespace).some((role) => role.user === name && role.type === type)) throw taken();
    if (place.title === "space") requireOrgRole(session, place.namespace, name);
    const draft = {
      metadata: { name: roleBindingName(type, name), namespace: place.namespace },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: CF_ROLES[type].clusterRole },
      subjects: [toSubject(name)],
    };
    const binding = await session.create(RoleBinding, draft, taken);
    const [role] = rolesOf(binding);
    if (!role) throw unprocessable("The role was not given.");
    return created(presentRole(session.cache, role, base));
  },
});

/** The user's name in Kubernetes. @throws CFError 422 for an origin that it does not know, in CF's words */
function requireUserName(
  { caller, usesUAA }: Session,
  { guid, username = "", origin }: z.output<typeof user>["data"],
): string {
  if (guid !== undefined) return toOwnName(guid, caller.name, usesUAA);
  const name = toUserName(username, origin, usesUAA);
  if (name !== undefined) return name;
  throw unprocessable(
    `No user exists with the username '${username}' and origin '${origin}'. Users are those of Kubernetes: leave the origin out.`,
  );
}

function listRolesIn(session: Session, namespace: string): RoleAssignment[] {
  return session.cache.store(RoleBinding).list({ namespace }).flatMap(rolesOf);
}

/** As in CF, a user needs a role in the org before a role in its space. */
function requireOrgRole(session: Session, spaceNamespace: string, name: string): void {
  const orgNamespace = session.cache.spaceOf(spaceNamespace)?.metadata.namespace ?? "";
  if (!listRolesIn(session, orgNamespace).some((role) => role.user === name))
    throw unprocessable(
      "Users cannot be assigned roles in a space if they do not have a role in that space's organization.",
    );
}

const remove = endpoint({
  method: "DELETE",
  path,
  permission: { verb: "delete", on: RoleBinding },
  asks: [{ verb: "patch", on: RoleBinding }],
  summary: "Delete a role",
  handler: async ({ session, params }) => {
    const role = findRole(session, params.guid);
    if (!role) throw notFound("Role");
    if (role.type === "organization_user") requireNoSpaceRole(session, role);
    await removeRole(session, role);
    return accepted(await newJob(session, "role.delete", role.guid));
  },
});

function requireNoSpaceRole(session: Session, role: RoleAssignment): void {
  const spaces = session.cache.store(Space).list({ namespace: role.binding.metadata.namespace ?? "" });
  const holds = spaces.some(
    (space) =>
      space.status?.namespace && listRolesIn(session, space.status.namespace).some((one) => one.user === role.user),
  );
  if (holds)
    throw unprocessable("Cannot delete organization_user role while user has roles in spaces in that organization.");
}

const list = endpoint({
  method: "GET",
  path: "/v3/roles",
  permission: "authenticated",
  lists: [Space, Org],
  query: roleListQuery,
  badQueryError: "UnprocessableEntity",
  summary: "List roles",
  handler: ({ session, query, base, url }) =>
    ok(
      presentPage(
        listRoles(session, query, url),
        { base, url, query, isCacheable: true },
        (role) => presentRole(session.cache, role, base),
        included(session, base, query.include),
      ),
    ),
});

/** The matching roles that the caller sees, in order. */
function listRoles(session: Session, query: z.output<typeof roleListQuery>, url: string): readonly RoleAssignment[] {
  const guidOf = (role: RoleAssignment): { org: string; space: string } => {
    const { org, space } = scopeOf(session.cache, role);
    return { org: org ? session.cache.guid(Org, org) : "", space: space ? session.cache.guid(Space, space) : "" };
  };
  const find = (): RoleAssignment[] => {
    const roles = listVisibleRoles(session).filter(
      (role) =>
        isOneOf(query.guids, role.guid) &&
        isOneOf(query.types, role.type) &&
        isOneOf(query.user_guids, role.user) &&
        (!query.organization_guids || query.organization_guids.includes(guidOf(role).org)) &&
        (!query.space_guids || query.space_guids.includes(guidOf(role).space)),
    );
    const keyed = roles.map((role): [string, RoleAssignment] => [order(role), role]);
    keyed.sort(([one], [other]) => (one < other ? -1 : 1));
    if (query.order_by?.startsWith("-")) keyed.reverse();
    return keyed.map(([, role]) => role);
  };
  return rememberedList(session, {
    ref: RoleBinding,
    url,
    reads: [RoleBinding, Space, Org],
    dependsOn: [Space, Org, ...(query.include ? [User, OrgQuota, SpaceQuota] : [])],
    find,
  });
}

function order(role: RoleAssignment): string {
  return `${createdTimeOf(role.binding) ?? ""} ${role.guid}`;
}

function included(
  session: Session,
  base: string,
  what: readonly string[] | undefined,
): ((page: readonly RoleAssignment[]) => object) | undefined {
  if (!what) return undefined;
  return (page) => {
    const namespaces = page.map((role) => role.binding.metadata.namespace);
    return {
      ...(what.includes("user") && {
        users: includedUsers(
          session,
          base,
          page.map((role) => role.user),
        ),
      }),
      ...(what.includes("space") && includedSpaces(session, base, namespaces, false)),
      ...(what.includes("organization") && { organizations: includedOrgs(session, base, namespaces) }),
    };
  };
}

const get = endpoint({
  method: "GET",
  path,
  permission: "authenticated",
  query: roleGetQuery,
  badQueryError: "UnprocessableEntity",
  summary: "Get a role",
  handler: ({ session, params, query, base }) => {
    const role = findRole(session, params.guid);
    if (!role) throw notFound("Role");
    const more = included(session, base, query.include);
    return ok({ ...presentRole(session.cache, role, base), ...(more && { included: more([role]) }) });
  },
});

export const roleEndpoints: readonly Endpoint[] = [list, get, create, remove];
