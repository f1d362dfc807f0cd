// The Impersonate-* headers: each of them needs the verb `impersonate`.
import type { AttributesRecord, Authorize, Credentials, UserInfo } from "../types.ts";
import { internal } from "../status.ts";
import { refusalOf } from "./refusal.ts";
import { anonymousUser, authenticated, parseServiceAccount, serviceAccountUser, unauthenticated } from "./users.ts";

const extraPrefix = "impersonate-extra-";
const authentication = "authentication.k8s.io";

interface Wanted {
  user: string;
  groups: string[];
  uid: string;
  extra: Record<string, string[]>;
}

function readHeaders(headers: Credentials["impersonate"]): Wanted | undefined {
  const extra = Object.entries(headers).filter(([name]) => name.startsWith(extraPrefix));
  const wanted: Wanted = {
    user: headers["impersonate-user"]?.[0] ?? "",
    groups: headers["impersonate-group"] ?? [],
    uid: headers["impersonate-uid"]?.[0] ?? "",
    extra: Object.fromEntries(extra.map(([name, values]) => [unescaped(name.slice(extraPrefix.length)), values])),
  };
  if (wanted.user !== "") return wanted;
  if (wanted.groups.length > 0 || wanted.uid !== "" || extra.length > 0)
    throw internal("requested impersonation without impersonating a user");
  return undefined;
}

/** Keys are percent-encoded; an invalid encoding is taken literally. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch (error) {
    if (error instanceof URIError) return key;
    throw error;
  }
}

type Target = Pick<AttributesRecord, "group" | "resource" | "subresource" | "namespace" | "name">;

function targets({ user, groups, uid, extra }: Wanted): Target[] {
  const none = { group: "", subresource: "", namespace: "" };
  const account = parseServiceAccount(user);
  return [
    account ? { ...none, resource: "serviceaccounts", ...account } : { ...none, resource: "users", name: user },
    ...groups.map((name) => ({ ...none, resource: "groups", name })),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((name) => ({ ...none, group: authentication, resource: "userextras", subresource: key, name })),
    ),
    ...(uid === "" ? [] : [{ ...none, group: authentication, resource: "uids", name: uid }]),
  ];
}

/** The effective user of the request: `caller`, or the impersonated user. Throws 403 when that is not allowed. */
export function impersonate(caller: UserInfo, headers: Credentials["impersonate"], authorize: Authorize): UserInfo {
  const wanted = readHeaders(headers);
  if (!wanted) return caller;
  for (const target of targets(wanted)) {
    const attributes: AttributesRecord = {
      user: caller,
      verb: "impersonate",
      version: target.group === authentication ? "v1" : "",
      ...target,
    };
    const decision = authorize(attributes);
    if (!decision.allowed) throw refusalOf(attributes, decision.reason);
  }
  const extra = Object.keys(wanted.extra).length > 0 ? { extra: wanted.extra } : {};
  return { name: wanted.user, groups: groupsOf(wanted), ...(wanted.uid !== "" && { uid: wanted.uid }), ...extra };
}

/** Groups as asked for, or a service account's own; and whether the user counts as authenticated. */
function groupsOf({ user, groups }: Wanted): string[] {
  const account = parseServiceAccount(user);
  const own = groups.length === 0 && account ? serviceAccountUser(account.namespace, account.name).groups : groups;
  const mark = user === anonymousUser ? unauthenticated : authenticated;
  return own.includes(unauthenticated) || own.includes(mark) ? own : [...own, mark];
}
