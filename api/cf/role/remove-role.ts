// Takes a role away: of several subjects of a binding only the one goes.
import { originalUidOf } from "../../../crds/origin.ts";
import { roleGUID } from "../../../crds/roles.ts";
import { RoleBinding } from "../../../kube/api/builtin.ts";
import type { Session } from "../../access/session.ts";
import type { RoleAssignment } from "../../../crds/role-assignments.ts";

export async function removeRole(session: Session, role: RoleAssignment): Promise<void> {
  if (role.binding.subjects?.length === 1) return session.delete(RoleBinding, role.binding);
  await session.patchWithRetry(RoleBinding, role.binding, (binding) => ({
    subjects: (binding.subjects ?? []).filter((subject) => roleGUID(originalUidOf(binding), subject) !== role.guid),
  }));
}
