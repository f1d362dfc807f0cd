// CF's admins. There is no admin role: a caller who may update every org is an admin.
import { Org } from "../../crds/org/org.ts";
import type { AccessAttributes } from "../cache/rbac-authorizer.ts";
import type { RequiredPermission } from "./required-permission.ts";

/** Asked by `isAdmin`; reads that call it declare it. */
export const BEING_ADMIN: RequiredPermission = { verb: "update", on: Org };

/** Whether the caller may update every org. */
export function isAdmin(caller: { allows(asked: AccessAttributes): boolean }): boolean {
  return caller.allows(BEING_ADMIN);
}
