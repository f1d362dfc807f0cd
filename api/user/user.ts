// Endpoints of users: `/v3/users` lists the caller and the distinct subjects of the roles that the caller sees.
import type { z } from "zod";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import { endpoint, ok, type Endpoint, type Reply } from "../http/endpoint.ts";
import { notFound } from "../http/errors.ts";
import { listVisibleRoles } from "../cf/role/roles.ts";
import { isOneOf } from "../cache/list-objects.ts";
import { presentPage } from "../http/page.ts";
import type { Session } from "../access/session.ts";
import { userListQuery } from "./payload.ts";
import { originOf, presentUser } from "./present.ts";

type ListQuery = z.output<typeof userListQuery>;

function listVisibleUsers(session: Session): string[] {
  return [...new Set([session.caller.name, ...listVisibleRoles(session).map((role) => role.user)])].sort();
}

/** Users with a role in an org's or space's own namespace. */
function listUsersIn(session: Session, place: { status?: { namespace?: string | undefined } | undefined }): string[] {
  return [...new Set(listVisibleRoles(session, [place.status?.namespace ?? ""]).map((role) => role.user))].sort();
}

function listReply(
  users: readonly string[],
  { query, base, url }: { query: ListQuery; base: string; url: string },
): Reply {
  const matches = (name: string): boolean =>
    !query.partial_usernames || query.partial_usernames.some((part) => name.toLowerCase().includes(part.toLowerCase()));
  const found = users.filter(
    (name) =>
      isOneOf(query.usernames, name) &&
      isOneOf(query.guids, name) &&
      isOneOf(query.origins, originOf(name)) &&
      matches(name),
  );
  return ok(presentPage(found, { base, url, query }, (name) => presentUser(name, base)));
}

export const userEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/users",
    permission: "authenticated",
    lists: [Space, Org],
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
    lists: [Space, Org],
    summary: "Get a user",
    handler: ({ session, params, base }) => {
      const name = listVisibleUsers(session).find((one) => one === params.guid);
      if (name === undefined) throw notFound("User");
      return ok(presentUser(name, base));
    },
  }),
];
