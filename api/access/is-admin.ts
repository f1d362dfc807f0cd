// CF's admins. There is no admin role: a caller who may update every org is an admin.
import { Org } from "../../crds/org/org.ts";
import type { AccessAttributes } from "../cache/rbac-authorizer.ts";

/** Whether the caller may update every org. */
export function isAdmin(caller: { allows(asked: AccessAttributes): boolean }): boolean {
  return caller.allows({ verb: "update", on: Org });
}
