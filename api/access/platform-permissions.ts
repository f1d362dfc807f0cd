// What the API does with the platform's own identity. Tenants' nouns are written with the caller's.
import { Secret, SubjectAccessReview, TokenReview } from "../../kube/api/builtin.ts";
import { LIST_WATCH_VERBS } from "../../kube/controller/permissions.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { CACHED_KINDS } from "../cache/cluster-cache.ts";

export const API_PERMISSIONS: readonly Permission[] = [
  ...CACHED_KINDS.map((on): Permission => ({ resource: on, verbs: LIST_WATCH_VERBS })),
  // Names are claimed before what bears them is made, and given back when that fails.
  { resource: Claim, verbs: ["create", "update", "delete"] },
  // Variables and pull credentials, after the evaluator has allowed it to the caller.
  { resource: Secret, verbs: ["get", "create", "patch"] },
  { resource: TokenReview, verbs: ["create"] },
  { resource: SubjectAccessReview, verbs: ["create"] },
];
