// Impersonate-* headers: honoured only where RBAC grants `impersonate`, as kube-apiserver does. Pure but for the question to RBAC.
import type { ResourceRef } from "../../kube/resource-ref.ts";
import type { Authorization } from "../authorization.ts";
import { notAuthorized } from "../errors.ts";
import type { Caller } from "./caller.ts";

const core = { group: "", version: "v1", namespaced: false };
const users: ResourceRef = { ...core, kind: "User", plural: "users" };
const groupsRef: ResourceRef = { ...core, kind: "Group", plural: "groups" };
const serviceAccounts: ResourceRef = { ...core, kind: "ServiceAccount", plural: "serviceaccounts", namespaced: true };
const maxGroups = 64;

/** The caller that the headers ask for; undefined when they ask for none. @throws CFError NotAuthorized */
export function impersonated(caller: Caller, headers: NodeJS.Dict<string | string[]>, authorization: Authorization): Caller | undefined {
  const asked = Object.keys(headers).filter((name) => name.startsWith("impersonate-"));
  if (asked.length === 0) return undefined;
  const user = headers["impersonate-user"];
  // Uid and extras would need rights of their own that CF has no use for.
  const known = asked.every((name) => name === "impersonate-user" || name === "impersonate-group");
  const groups = list(headers["impersonate-group"]);
  if (typeof user !== "string" || user === "" || !known || groups.length > maxGroups) throw notAuthorized();
  const may = mayBe(caller, user, authorization) && groups.every((name) => authorization.allows(caller, { verb: "impersonate", on: groupsRef, name }));
  if (!may) throw notAuthorized();
  return {
    name: user,
    kind: user.startsWith("system:serviceaccount:") ? "ServiceAccount" : "User",
    groups: [...(groups.length > 0 ? groups : groupsOf(user)), "system:authenticated"],
    connect: (platform) => caller.connect(platform).as({ kind: "impersonate", user, groups }),
  };
}

function mayBe(caller: Caller, user: string, authorization: Authorization): boolean {
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user);
  if (!account) return authorization.allows(caller, { verb: "impersonate", on: users, name: user });
  return authorization.allows(caller, { verb: "impersonate", on: serviceAccounts, namespace: account[1] ?? "", name: account[2] ?? "" });
}

/** A service account's own groups: its groups only where none are asked for, as kube-apiserver has it. */
function groupsOf(user: string): string[] {
  const namespace = /^system:serviceaccount:([^:]+):/.exec(user)?.[1];
  return namespace ? ["system:serviceaccounts", `system:serviceaccounts:${namespace}`] : [];
}

/** Node joins repeated headers with ", ". */
function list(value: string | string[] | undefined): string[] {
  return [value ?? []].flat().flatMap((one) => one.split(/,\s*/)).filter((one) => one !== "");
}
