// What the API does with the platform's own identity. Tenants' nouns are written with the caller's.
import { Secret, SubjectAccessReview, TokenReview } from "../../kube/api/builtin.ts";
import { FOLLOW, type Right } from "../../kube/controller/permissions.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { VIEW_KINDS } from "../cache/cluster-cache.ts";

export const API_RIGHTS: readonly Right[] = [
  ...VIEW_KINDS.map((on): Right => ({ on, verbs: FOLLOW })),
  // Names are claimed before what bears them is made, and given back when that fails.
  { on: Claim, verbs: ["create", "update", "delete"] },
  // Variables and pull credentials, after the evaluator has allowed it to the caller.
  { on: Secret, verbs: ["get", "create", "patch"] },
  { on: TokenReview, verbs: ["create"] },
  { on: SubjectAccessReview, verbs: ["create"] },
];
