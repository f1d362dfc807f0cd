// Endpoints of users: `/v3/users` lists the caller, the distinct subjects of the roles that the caller sees, and records of users without roles.
import type { z } from "zod";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import { User, userObjectName } from "../../crds/user/user.ts";
import { toMetadataPatch, metadataForCreate, metadataOf } from "../http/metadata.ts";
import { findUserRecord } from "../cf/role/user-records.ts";
import { accepted, created, endpoint, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import { type CFError, notFound, unprocessable } from "../http/errors.ts";
import { metadataOnlySchema } from "../http/shared-schemas.ts";
import { newJob } from "../jobs/jobs.ts";
import { removeRole } from "../cf/role/remove-role.ts";
import { listVisibleRoles } from "../cf/role/roles.ts";
import { isOneOf } from "../lists/list-objects.ts";
import { presentPage } from "../lists/page.ts";
import type { Session } from "../access/session.ts";
import { createUserBody, userListQuery } from "./payload.ts";
import { presentUser } from "./present.ts";
import { isNamed, toUserName } from "../cf/role/user-origin.ts";
import { RoleBinding } from "../../kube/api/builtin.ts";

type ListQuery = z.output<typeof userListQuery>;

/** The caller, the holders of roles that the caller sees, and for those who may read records all that have one. */
function listVisibleUsers(session: Session): string[] {
  const recorded = session.list(User).map(({ spec }) => spec.username);
  return [...new Set([session.caller.name, ...listVisibleRoles(session).map((role) => role.user), ...recorded])].sort();
}

function labelsOf({ cache }: Session, name: string): Record<string, string> {
  const record = findUserRecord(cache, name);
  return record ? metadataOf(record).labels : {};
}

/** Users with a role in an org's or space's own namespace. */
function listUsersIn(session: Session, place: { status?: { namespace?: string | undefined } | undefined }): string[] {
  return [...new Set(listVisibleRoles(session, [place.status?.namespace ?? ""]).map((role) => role.user))].sort();
}

function listReply(
  users: readonly string[],
  { session, query, base, url }: { session: Session; query: ListQuery; base: string; url: string },
): Reply {
  const labels = query.label_selector;
  const matches = (name: string): boolean =>
    !query.partial_usernames || query.partial_usernames.some((part) => name.toLowerCase().includes(part.toLowerCase()));
  const found = users.filter(
    (name) =>
      isNamed(name, query, session.usesUAA) &&
      isOneOf(query.guids, name) &&
      (!labels || labels(labelsOf(session, name))) &&
      matches(name),
  );
  return ok(presentPage(found, { base, url, query }, (name) => presentUser(session, name, base)));
}

/** @throws CFError 404 when the caller does not see the user */
function visibleUser(session: Session, guid: string): string {
  const name = listVisibleUsers(session).find((one) => one === guid);
  if (name === undefined) throw notFound("User");
  return name;
}

const records = { namespace: SYSTEM_NAMESPACE } as const;

async function createRecord(
  session: Session,
  username: string,
  metadata: z.output<typeof createUserBody>["metadata"],
  taken: () => CFError,
): Promise<User> {
  return session.create(
    User,
    { metadata: { ...records, name: userObjectName(username), ...metadataForCreate(metadata) }, spec: { username } },
    taken,
  );
}

const create = endpoint({
  method: "POST",
  path: "/v3/users",
  permission: { verb: "create", on: User },
  body: createUserBody,
  summary: "Create a user's record",
  handler: async ({ session, body, base }) => {
    session.authorize({ verb: "create", on: User, ...records });
    const name = body.guid ?? toUserName(body.username ?? "", body.origin, session.usesUAA) ?? body.username ?? "";
    const taken = (): CFError =>
      unprocessable(
        body.guid
          ? `User with guid '${name}' already exists.`
          : `User with username '${name}' and origin '${body.origin ?? ""}' already exists.`,
      );
    if (findUserRecord(session.cache, name) || listVisibleRoles(session).some((role) => role.user === name))
      throw taken();
    const record = await createRecord(session, name, body.metadata, taken);
    return created(presentUser(session, name, base, record));
  },
});

const update = endpoint({
  method: "PATCH",
  path: "/v3/users/:guid",
  permission: { verb: "patch", on: User },
  asks: [{ verb: "create", on: User }],
  lists: [Space, Org, User],
  body: metadataOnlySchema,
  summary: "Update a user's metadata",
  handler: async ({ session, params, body, base }) => {
    const name = visibleUser(session, params.guid);
    session.authorize({ verb: "patch", on: User, ...records, name: userObjectName(name) });
    const record = findUserRecord(session.cache, name);
    const after = record
      ? await session.patch(User, record, {
          type: "merge",
          body: { metadata: toMetadataPatch(body.metadata, record) },
        })
      : await createRecord(session, name, body.metadata, () =>
          unprocessable("The user changes at this moment. Try again."),
        );
    return ok(presentUser(session, name, base, after));
  },
});

const remove = endpoint({
  method: "DELETE",
  path: "/v3/users/:guid",
  permission: { verb: "delete", on: User },
  asks: [
    { verb: "delete", on: RoleBinding },
    { verb: "patch", on: RoleBinding },
  ],
  lists: [Space, Org, User],
  summary: "Delete a user's roles and record",
  handler: async ({ session, params }) => {
    const name = visibleUser(session, params.guid);
    session.authorize({ verb: "delete", on: User, ...records, name: userObjectName(name) });
    for (const role of listVisibleRoles(session)) if (role.user === name) await removeRole(session, role);
    const record = findUserRecord(session.cache, name);
    if (record) await session.delete(User, record);
    return accepted(await newJob(session, "user.delete", name));
  },
});

export const userEndpoints: readonly Endpoint[] = [
  create,
  update,
  remove,
  endpoint({
    method: "GET",
    path: "/v3/users",
    permission: "authenticated",
    lists: [Space, Org, User],
    query: userListQuery,
    badQueryError: "UnprocessableEntity",
    summary: "List users",
    handler: (request) => listReply(listVisibleUsers(request.session), request),
  }),
  endpoint({
    method: "GET",
    path: "/v3/organizations/:guid/users",
    permission: { verb: "get", on: Org },
    query: userListQuery,
    summary: "List users with a role in an organization",
    handler: (request) =>
      listReply(listUsersIn(request.session, request.session.get(Org, request.params.guid)), request),
  }),
  endpoint({
    method: "GET",
    path: "/v3/spaces/:guid/users",
    permission: { verb: "get", on: Space },
    query: userListQuery,
    summary: "List users with a role in a space",
    handler: (request) =>
      listReply(listUsersIn(request.session, request.session.get(Space, request.params.guid)), request),
  }),
  endpoint({
    method: "GET",
    path: "/v3/users/:guid",
    permission: "authenticated",
    lists: [Space, Org, User],
    summary: "Get a user",
    handler: ({ session, params, base }) => {
      return ok(presentUser(session, visibleUser(session, params.guid), base));
    },
  }),
];
