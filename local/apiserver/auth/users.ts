// User and group names with a meaning to the API server, and the users of service accounts.
import type { UserInfo } from "../types.ts";

export const anonymousUser = "system:anonymous";
export const authenticated = "system:authenticated";
export const unauthenticated = "system:unauthenticated";
export const masters = "system:masters";

/** No credentials at all. A new object each time: user objects are remembered by identity. */
export function anonymous(): UserInfo {
  return { name: anonymousUser, groups: [unauthenticated] };
}

/** The user with `system:authenticated` among its groups. */
export function withAuthenticated(user: UserInfo): UserInfo {
  return user.groups.includes(authenticated) || user.groups.includes(unauthenticated)
    ? user
    : { ...user, groups: [...user.groups, authenticated] };
}

/** The user that a service account is authenticated as. */
export function serviceAccountUser(namespace: string, name: string, uid?: string): UserInfo {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    ...(uid && { uid }),
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`],
  };
}

/** Namespace and name when a user name is a service account's. */
export function parseServiceAccount(userName: string): { namespace: string; name: string } | undefined {
  const [system, kind, namespace, name, more] = userName.split(":");
  return system === "system" && kind === "serviceaccount" && namespace && name && more === undefined
    ? { namespace, name }
    : undefined;
}
