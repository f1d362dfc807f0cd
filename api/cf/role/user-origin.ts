// The users of Kubernetes as CF names them: by user name and origin. Pure.

/** The prefix of users of an existing UAA, whose tokens Kubernetes trusts, as docs/security.md maps them. */
const UAA_PREFIX = "uaa:";
const UAA_ORIGIN = "uaa";

export interface CFUser {
  username: string;
  origin: string;
}

/** `usesUAA`: whether an existing UAA gives the tokens. */
export function toCFUser(name: string, usesUAA: boolean): CFUser {
  if (name.startsWith("system:serviceaccount:")) return { username: name, origin: "serviceaccount" };
  return usesUAA && name.startsWith(UAA_PREFIX)
    ? { username: name.slice(UAA_PREFIX.length), origin: UAA_ORIGIN }
    : { username: name, origin: "kubernetes" };
}

/**
 * The name in Kubernetes of a user whom a client names. Without an origin it is one of the UAA, unless the name has a prefix; without a UAA the origin `uaa`,
 * which some clients say of everybody, means the users of Kubernetes. Undefined for an origin that nobody has.
 */
export function toUserName(username: string, origin: string | null | undefined, usesUAA: boolean): string | undefined {
  if (origin === UAA_ORIGIN) return usesUAA && !username.startsWith(UAA_PREFIX) ? `${UAA_PREFIX}${username}` : username;
  if (!origin) return usesUAA && !username.includes(":") ? `${UAA_PREFIX}${username}` : username;
  return origin === toCFUser(username, false).origin ? username : undefined;
}

/** The name of a user whose id a client takes from a token: a UAA's client knows itself without the prefix. */
export function toOwnName(guid: string, caller: string, usesUAA: boolean): string {
  return usesUAA && caller === `${UAA_PREFIX}${guid}` ? caller : guid;
}

/** Whether a list that is narrowed by user names and origins has the user. */
export function isNamed(
  name: string,
  { usernames, origins }: { usernames?: readonly string[] | undefined; origins?: readonly string[] | undefined },
  usesUAA: boolean,
): boolean {
  const { username, origin } = toCFUser(name, usesUAA);
  const isOf = (asked: string): boolean => asked === origin || (asked === UAA_ORIGIN && !usesUAA);
  if (!usernames) return origins?.some(isOf) ?? true;
  if (!origins) return usernames.includes(username) || usernames.includes(name);
  return usernames.some((asked) => origins.some((each) => toUserName(asked, each, usesUAA) === name));
}
