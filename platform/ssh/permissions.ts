// Watches and permissions of the operation `ssh-proxy`.
import { TENANCY_KINDS } from "../../controllers/shared/tenancy.ts";
import { SSHCode } from "../../crds/ssh-code/ssh-code.ts";
import { Pod, SubjectAccessReview } from "../../kube/api/builtin.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { LIST_WATCH_VERBS } from "../../kube/controller/permissions.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { AUDIT_WRITER_PERMISSIONS } from "../../telemetry/audit/audit-writer.ts";
import { SSH_KINDS } from "./authorize.ts";

export const SSH_WATCHES: readonly ResourceRef[] = [...new Set<ResourceRef>([...SSH_KINDS, ...TENANCY_KINDS])];

export const SSH_PERMISSIONS: readonly Permission[] = [
  ...SSH_WATCHES.map((resource): Permission => ({ resource, verbs: LIST_WATCH_VERBS })),
  { resource: SubjectAccessReview, verbs: ["create"] },
  { resource: SSHCode, verbs: ["get", "list", "delete"] },
  ...AUDIT_WRITER_PERMISSIONS,
];

/** In the namespaces of spaces alone. A WebSocket is a GET, for which API servers before 1.35 ask `get`, later ones `create`. */
export const SSH_SPACE_PERMISSIONS: readonly Permission[] = [
  { resource: Pod, verbs: ["list"] },
  { resource: Pod, subresource: "exec", verbs: ["get", "create"] },
];
