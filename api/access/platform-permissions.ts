// Permissions that the API needs for the platform's own identity. It writes tenants' resources as the caller.
import { Secret, SubjectAccessReview, TokenReview } from "../../kube/api/builtin.ts";
import { LIST_WATCH_VERBS } from "../../kube/controller/permissions.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { CONSTRAINTS_GROUP } from "../../crds/groups.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { SSHCode } from "../../crds/ssh-code/ssh-code.ts";
import { AUDIT_WRITER_PERMISSIONS } from "../../telemetry/audit/audit-writer.ts";
import { POD_USAGE_PERMISSIONS } from "../../telemetry/pods/pod-usage.ts";
import { CACHED_KINDS } from "../cache/cluster-cache.ts";

export const API_PERMISSIONS: readonly Permission[] = [
  ...CACHED_KINDS.map((on): Permission => ({ resource: on, verbs: LIST_WATCH_VERBS })),
  // Operator policy, by which writes are judged before they are sent. The kinds that templates make are not known before.
  { resource: PolicyTemplate, verbs: LIST_WATCH_VERBS },
  { resource: { group: CONSTRAINTS_GROUP, plural: "*" }, verbs: LIST_WATCH_VERBS },
  // A name is claimed before its object is created, and released when that fails.
  { resource: Claim, verbs: ["create", "update", "delete"] },
  // Codes of `cf ssh`, which its proxy redeems.
  { resource: SSHCode, verbs: ["create"] },
  // Environment variables, pull credentials and those of services, after the caller's permission was checked.
  { resource: Secret, verbs: ["get", "create", "patch", "delete"] },
  ...POD_USAGE_PERMISSIONS,
  ...AUDIT_WRITER_PERMISSIONS,
  { resource: TokenReview, verbs: ["create"] },
  { resource: SubjectAccessReview, verbs: ["create"] },
];
