// Admission policy: whoever has the rights of an import writes the Secrets that an import writes, and no others.
import {
  authorizerAllows,
  CALLER_IS_PLATFORM,
  EXCEPT_KUBERNETES,
  EXCEPT_PLATFORM,
  type AdmissionPolicy,
} from "./admission-policy.ts";
import { SYSTEM_NAMESPACE } from "./groups.ts";
import { INTERNAL_LABELS } from "./labels.ts";
import { RESTORER_CLUSTER_ROLE } from "./roles.ts";
import { SYSTEM_CREDENTIALS_SECRETS } from "./service-broker/credentials.ts";

/**
 * RBAC cannot restrict a ClusterRole to the namespaces of orgs and spaces. Its holders may create claims, and Secrets everywhere, and delete no Secrets. An administrator
 * of the cluster may delete them, and so may the owner of a namespace there.
 */
export function restorerPolicy(): AdmissionPolicy {
  const names = SYSTEM_CREDENTIALS_SECRETS.map((name) => `'${name}'`).join(", ");
  const secrets = { group: "", resource: "secrets" };
  return {
    name: "restorer-secrets.cupola.dev",
    resources: [{ group: "", plural: "secrets" }],
    operations: ["CREATE", "UPDATE"],
    matchConditions: [EXCEPT_KUBERNETES, EXCEPT_PLATFORM],
    variables: [
      { name: "mayClaim", expression: CALLER_IS_PLATFORM },
      {
        name: "isRestorer",
        expression: `variables.mayClaim && ${authorizerAllows({ ...secrets, verb: "create" })} && !${authorizerAllows({ ...secrets, namespace: "request.namespace", verb: "delete" })}`,
      },
    ],
    validations: [
      {
        expression: `!variables.isRestorer || (request.namespace == '${SYSTEM_NAMESPACE}' ? object.metadata.name in [${names}] : has(namespaceObject.metadata.labels) && '${INTERNAL_LABELS.namespaceKind}' in namespaceObject.metadata.labels)`,
        message: `${RESTORER_CLUSTER_ROLE} writes Secrets in the namespaces of orgs and spaces, and in ${SYSTEM_NAMESPACE} those with credentials of brokers`,
        reason: "Forbidden",
      },
      {
        // Kubernetes would fill such a Secret with a token of any account of the namespace.
        expression:
          "!variables.isRestorer || !has(object.type) || object.type != 'kubernetes.io/service-account-token'",
        message: `${RESTORER_CLUSTER_ROLE} makes no Secrets with tokens of service accounts`,
        reason: "Forbidden",
      },
    ],
  };
}
