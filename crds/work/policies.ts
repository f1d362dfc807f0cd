// Admission policies on the hub: the agent of a pull cluster changes nothing of a Work but its status and its finalizer, of its Cluster only its own report, and its tokens end within a week.
import { forbid, toPolicyResource, type AdmissionPolicy } from "../admission-policy.ts";
import { Cluster } from "../cluster/cluster.ts";
import { AGENT_ACCOUNT, CLUSTER_NAMESPACE_PREFIX, SECRET_COPY_PREFIX } from "./names.ts";
import { Work } from "./work.ts";

const ONLY_AGENTS = {
  name: "agents",
  expression: `request.userInfo.username.startsWith('system:serviceaccount:${CLUSTER_NAMESPACE_PREFIX}')`,
};

export function agentPolicies(): AdmissionPolicy[] {
  return [workPolicy(), reportPolicy(), tokenPolicy()];
}

/** Lifetime of the token that an agent gets for itself. It renews it daily. */
export const AGENT_TOKEN_SECONDS = 7 * 24 * 3600;

/** A thief with a copy of a token must come back within the week, while the account exists. */
function tokenPolicy(): AdmissionPolicy {
  return {
    name: "agent-tokens.cupola.dev",
    resources: [{ group: "", plural: "serviceaccounts/token" }],
    operations: ["CREATE"],
    matchConditions: [ONLY_AGENTS],
    validations: [
      forbid(
        `!has(object.spec.expirationSeconds) || object.spec.expirationSeconds <= ${AGENT_TOKEN_SECONDS}`,
        "a token of an agent lasts a week at most",
      ),
    ],
  };
}

const IN_CLUSTER_NAMESPACE = `request.namespace.startsWith('${CLUSTER_NAMESPACE_PREFIX}')`;

/** For policies of the platform's own places: the platform copies a Secret beside a Work, and changes and deletes none there. */
export const COPIES_SECRET = `(${IN_CLUSTER_NAMESPACE} && oldObject == null && object.metadata.name.matches('^${SECRET_COPY_PREFIX}[0-9a-f]+$'))`;

/** As COPIES_SECRET: the platform takes the account of an agent back. */
export const REVOKES_AGENT = `(${IN_CLUSTER_NAMESPACE} && request.resource.resource == 'serviceaccounts' && object == null && oldObject.metadata.name == '${AGENT_ACCOUNT}')`;

/** Whether a field is the same, set or not. */
function same(parent: (object: string) => string, field: string): string {
  const [now, before] = [parent("object"), parent("oldObject")];
  return `has(${now}.${field}) == has(${before}.${field}) && (!has(${now}.${field}) || ${now}.${field} == ${before}.${field})`;
}

function workPolicy(): AdmissionPolicy {
  const metadata = ["labels", "annotations", "ownerReferences"].map((field) =>
    same((object) => `${object}.metadata`, field),
  );
  const finalizers =
    "(!has(object.metadata.finalizers) || object.metadata.finalizers.all(name, has(oldObject.metadata.finalizers) && name in oldObject.metadata.finalizers))";
  return {
    name: "works.cupola.dev",
    resources: [toPolicyResource(Work)],
    operations: ["UPDATE"],
    matchConditions: [ONLY_AGENTS],
    validations: [
      forbid("object.spec == oldObject.spec", "an agent does not change what it has to do"),
      forbid([...metadata, finalizers].join(" && "), "of a Work's metadata an agent only removes its finalizer"),
    ],
  };
}

function reportPolicy(): AdmissionPolicy {
  const kept = Object.keys(Cluster.status.shape).filter((field) => field !== "agent");
  return {
    name: "agent-reports.cupola.dev",
    resources: [{ group: Cluster.group, plural: `${Cluster.plural}/status` }],
    operations: ["UPDATE"],
    matchConditions: [ONLY_AGENTS],
    validations: [
      forbid("has(oldObject.status) && has(object.status)", "the platform's own status of a Cluster comes first"),
      ...kept.map((field) =>
        forbid(
          `!has(oldObject.status) || !has(object.status) || (${same((object) => `${object}.status`, field)})`,
          `of the status of a Cluster an agent writes the field agent only, not ${field}`,
        ),
      ),
    ],
  };
}
