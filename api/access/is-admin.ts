// CF's admins. No role of its own: whoever has rights on every org is one.
import { Org } from "../../crds/org/org.ts";
import type { AccessAttributes } from "./rbac-authorizer.ts";

/** Whether the caller may change every org. */
export function isAdmin(caller: { allows(asked: AccessAttributes): boolean }): boolean {
  return caller.allows({ verb: "update", on: Org });
}
