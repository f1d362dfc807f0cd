// Impersonate-* headers: as in kube-apiserver, honored only where `impersonate` is granted. Pure except for the permission check.
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { AccessAttributes } from "../cache/rbac-authorizer.ts";
import { notAuthorized } from "../http/errors.ts";
import type { Caller } from "./caller.ts";

const core = { group: "", version: "v1", namespaced: false };
const users: ResourceRef = { ...core, kind: "User", plural: "users" };
const groupsRef: ResourceRef = { ...core, kind: "Group", plural: "groups" };
const serviceAccounts: ResourceRef = { ...core, kind: "ServiceAccount", plural: "serviceaccounts", namespaced: true };
const maxGroups = 64;

/** Whether a caller has a permission. Throws when that is unknown. */
export type DecideAccess = (caller: Caller, asked: AccessAttributes) => Promise<boolean>;

/** The caller that the headers impersonate; undefined, at once, without such headers. Rejects with CFError NotAuthorized. */
export function findImpersonatedCaller(
  caller: Caller,
  headers: NodeJS.Dict<string | string[]>,
  decide: DecideAccess,
): Promise<Caller> | undefined {
  const asked = Object.keys(headers).filter((name) => name.startsWith("impersonate-"));
  return asked.length === 0 ? undefined : impersonate(caller, { headers, asked }, decide);
}

async function impersonate(
  caller: Caller,
  { headers, asked }: { headers: NodeJS.Dict<string | string[]>; asked: readonly string[] },
  decide: DecideAccess,
): Promise<Caller> {
  const user = headers["impersonate-user"];
  // Uid and extras would need further permissions that CF has no use for.
  const known = asked.every((name) => name === "impersonate-user" || name === "impersonate-group");
  const groups = splitHeader(headers["impersonate-group"]);
  if (typeof user !== "string" || user === "" || !known || groups.length > maxGroups) throw notAuthorized();
  const wanted: AccessAttributes[] = [
    toImpersonateAttributes(user),
    ...groups.map((name): AccessAttributes => ({ verb: "impersonate", on: groupsRef, name })),
  ];
  if (!(await Promise.all(wanted.map((one) => decide(caller, one)))).every(Boolean)) throw notAuthorized();
  return {
    name: user,
    kind: user.startsWith("system:serviceaccount:") ? "ServiceAccount" : "User",
    groups: withAuthenticationGroup(user, groups.length > 0 ? groups : groupsOf(user)),
    connect: (platform) => caller.connect(platform).as({ kind: "impersonate", user, groups }),
  };
}

function toImpersonateAttributes(user: string): AccessAttributes {
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user);
  if (!account) return { verb: "impersonate", on: users, name: user };
  return { verb: "impersonate", on: serviceAccounts, namespace: account[1] ?? "", name: account[2] ?? "" };
}

/** A service account's default groups: as in kube-apiserver, used only when the headers name no groups. */
function groupsOf(user: string): string[] {
  const namespace = /^system:serviceaccount:([^:]+):/.exec(user)?.[1];
  return namespace ? ["system:serviceaccounts", `system:serviceaccounts:${namespace}`] : [];
}

/** Whether the user counts as authenticated, by kube-apiserver's rule, so that the same headers grant the same access as in Kubernetes. */
function withAuthenticationGroup(user: string, groups: readonly string[]): string[] {
  const mark = user === "system:anonymous" ? "system:unauthenticated" : "system:authenticated";
  return groups.includes("system:unauthenticated") || groups.includes(mark) ? [...groups] : [...groups, mark];
}

/** Node joins repeated headers with ", ". */
function splitHeader(value: string | string[] | undefined): string[] {
  return [value ?? []]
    .flat()
    .flatMap((one) => one.split(/,\s*/))
    .filter((one) => one !== "");
}
