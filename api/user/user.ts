// The HTTP face of users: `/v3/users`, the distinct subjects of the roles that the caller sees, and the caller.
import { endpoint, ok, type Endpoint } from "../endpoint.ts";
import { notFound } from "../errors.ts";
import { visibleRoles } from "../lib/cf-roles.ts";
import { oneOf } from "../lib/list.ts";
import { presentPage } from "../lib/page.ts";
import { csv, listQuery } from "../lib/query.ts";
import type { Session } from "../session.ts";
import { presentUser } from "./present.ts";

const userListQuery = listQuery({ usernames: csv.optional(), partial_usernames: csv.optional(), origins: csv.optional() });

function visibleUsers(as: Session): string[] {
  return [...new Set([as.caller.name, ...visibleRoles(as).map((role) => role.user)])].sort();
}

export const userEndpoints: readonly Endpoint[] = [
  endpoint("GET", "/v3/users", { permission: "authenticated", query: userListQuery, summary: "List users" }, ({ as, query, base, url }) => {
    const users = visibleUsers(as).filter(
      (name) => oneOf(query.usernames, name) && oneOf(query.guids, name) && (!query.partial_usernames || query.partial_usernames.some((part) => name.toLowerCase().includes(part.toLowerCase()))),
    );
    return ok(presentPage(users, { base, url, query }, (name) => presentUser(name, base)));
  }),
  endpoint("GET", "/v3/users/:guid", { permission: "authenticated", summary: "Get a user" }, ({ as, params, base }) => {
    const name = visibleUsers(as).find((one) => one === params["guid"]);
    if (name === undefined) throw notFound("User");
    return ok(presentUser(name, base));
  }),
];
