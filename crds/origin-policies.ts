// Admission policies on the annotations of imported objects: they say which GUIDs and times an object shows, and that no controller reconciles it yet.
import { CALLER_IS_PLATFORM, toPolicyResource, type AdmissionPolicy } from "./admission-policy.ts";
import { DEFINITIONS } from "./definitions.ts";
import { ANNOTATIONS, INTERNAL_LABELS } from "./labels.ts";

const KEYS = `[${[
  ANNOTATIONS.importing,
  ANNOTATIONS.originalUid,
  ANNOTATIONS.originalCreated,
  ANNOTATIONS.originalUpdated,
]
  .map((key) => `'${key}'`)
  .join(", ")}]`;

const hasAny = (object: string): string =>
  `(${object} != null && has(${object}.metadata.annotations) && ${KEYS}.exists(key, key in ${object}.metadata.annotations))`;
/** An annotation with an empty value is not the same as none. */
const valueOf = (object: string): string =>
  `(${object} != null && has(${object}.metadata.annotations) && key in ${object}.metadata.annotations ? '=' + ${object}.metadata.annotations[key] : '')`;

/** On our kinds, and on RoleBindings of orgs and spaces, from which the GUIDs of roles derive. */
export function originPolicies(): AdmissionPolicy[] {
  const policy = {
    operations: ["CREATE", "UPDATE"],
    matchConditions: [{ name: "has-an-origin", expression: `${hasAny("object")} || ${hasAny("oldObject")}` }],
    validations: [
      {
        expression: `${KEYS}.all(key, ${valueOf("object")} == ${valueOf("oldObject")}) || ${CALLER_IS_PLATFORM}`,
        message: `only callers who may create claims in cupola-system, as that of cup import, may set, change or remove the annotations ${ANNOTATIONS.importing}, ${ANNOTATIONS.originalUid}, ${ANNOTATIONS.originalCreated} and ${ANNOTATIONS.originalUpdated}`,
        reason: "Forbidden",
      },
    ],
  } satisfies Partial<AdmissionPolicy>;
  return [
    {
      ...policy,
      name: "origin.cupola.dev",
      resources: DEFINITIONS.map((definition) => toPolicyResource(definition)),
    },
    {
      ...policy,
      name: "role-origin.cupola.dev",
      resources: [{ group: "rbac.authorization.k8s.io", plural: "rolebindings" }],
      namespaceLabel: { key: INTERNAL_LABELS.namespaceKind },
    },
  ];
}
