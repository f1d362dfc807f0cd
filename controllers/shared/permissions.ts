// Permissions that shared code of the controllers needs beyond their definitions. Input of the generated roles.
import { ClusterRole, Namespace, PersistentVolumeClaim, Secret } from "../../kube/api/builtin.ts";
import { permissionsIn, permissionsOf } from "../../kube/controller/permissions.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Org } from "../../crds/org/org.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { CF_ROLES, ORG_AUDITOR_IN_SPACE, ORG_CREATOR, ORG_MANAGER_IN_SPACE } from "../../crds/roles.ts";
import { Task } from "../../crds/task/task.ts";
import { Space } from "../../crds/space/space.ts";
import { createControllers } from "../controllers.ts";
import { OPEN_GATE } from "./start-gate.ts";
import { SPACE_CONTENT_KINDS } from "../space/contents.ts";

/** ClusterRoles that controllers bind users to. This needs permission to `bind` them, not to `escalate`. */
const BINDABLE_ROLES = [
  ORG_MANAGER_IN_SPACE,
  ORG_AUDITOR_IN_SPACE,
  ORG_CREATOR,
  CF_ROLES.organization_user.clusterRole,
  CF_ROLES.organization_manager.clusterRole,
];

const SHARED_PERMISSIONS: readonly Permission[] = [
  // claims.ts, claim/: names.
  { resource: Claim, verbs: ["get", "create", "update", "delete"] },
  // env-snapshot.ts: immutable Secrets of variables, and the key of their names.
  { resource: Secret, verbs: ["get", "create", "delete"] },
  // services-snapshot.ts: labels of claims that bound services mount.
  { resource: PersistentVolumeClaim, verbs: ["get"] },
  // owned-namespace.ts
  { resource: Namespace, verbs: ["create", "patch", "delete"] },
  // history-limits.ts, space/contents.ts, org/: objects beyond their limit, and the contents of a space or org under deletion.
  ...[...SPACE_CONTENT_KINDS, Space].map((on): Permission => ({ resource: on, verbs: ["delete"] })),
  // Created once: processes, revisions and tasks of releases by app/, droplets by build/.
  ...[Process, Revision, Task, Droplet].map((on): Permission => ({ resource: on, verbs: ["create", "patch"] })),
  // Managers may update their org or space by name. RBAC lets the platform grant only permissions that it holds.
  ...[Org, Space].map((on): Permission => ({ resource: on, verbs: ["update"] })),
  { resource: ClusterRole, verbs: ["bind"], names: BINDABLE_ROLES },
];

/** All permissions of the controllers: in all namespaces, and those only in the system namespace. */
export function listControllerPermissions(): { cluster: Permission[]; system: Permission[] } {
  const controllers = createControllers({
    apiURL: "",
    hasContent: () => Promise.resolve(false),
    startGate: OPEN_GATE,
  });
  return {
    cluster: [...controllers.flatMap(permissionsOf), ...SHARED_PERMISSIONS],
    system: controllers.flatMap((controller) => permissionsIn(SYSTEM_NAMESPACE, controller)),
  };
}
