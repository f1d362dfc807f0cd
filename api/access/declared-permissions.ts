// The permissions that an endpoint's row declares, and whether a question of its handler is among them.
import type { AccessAttributes } from "../cache/rbac-authorizer.ts";
import type { DeclaredPermissions, EndpointPermission, RequiredPermission } from "./required-permission.ts";
import { ASKED_OF_WRITES } from "./suspension.ts";

/** The fields of a row that say what its handler asks. */
export interface DeclaringRow {
  method: string;
  path: string;
  permission: EndpointPermission;
  asks?: readonly RequiredPermission[];
}

export function declaredPermissions({ method, path, permission, asks = [] }: DeclaringRow): DeclaredPermissions {
  const required = typeof permission === "string" ? [] : [permission].flat();
  const permissions = [...required, ...asks, ...(method === "GET" ? [] : ASKED_OF_WRITES)];
  return {
    endpoint: `${method} ${path}`,
    permissions: [...new Map(permissions.map((one) => [nameOf(one), one])).values()],
    reported: new Set(),
  };
}

export function isDeclared({ permissions }: DeclaredPermissions, asked: AccessAttributes): boolean {
  const { verb, on, subresource = "" } = asked;
  if (verb === "get" && subresource === "") return true;
  return permissions.some(
    (one) =>
      one.verb === verb &&
      (one.subresource ?? "") === subresource &&
      (one.on === on || (one.on.plural === on.plural && one.on.group === on.group)),
  );
}

/** The question's name the first time that the endpoint asks it undeclared; else undefined. */
export function newlyUndeclared(declared: DeclaredPermissions, asked: AccessAttributes): string | undefined {
  if (isDeclared(declared, asked)) return undefined;
  const name = nameOf(asked);
  if (declared.reported.has(name)) return undefined;
  declared.reported.add(name);
  return name;
}

function nameOf({ verb, on, subresource }: Pick<AccessAttributes, "verb" | "on" | "subresource">): string {
  return `${verb} ${on.plural}${subresource ? `/${subresource}` : ""} in ${on.group || "core"}`;
}
