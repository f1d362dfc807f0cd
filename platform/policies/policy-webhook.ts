// The webhook's verdict by rules that read other objects, which no ValidatingAdmissionPolicy holds, and about templates with a mistake. Nothing rests on it: the start gate judges again, and rules from before stay in force.
import { isDeepStrictEqual } from "node:util";
import { EXCEPT_API, isPlatformCaller } from "../../crds/admission-policy.ts";
import { GROUP } from "../../crds/groups.ts";
import { STABLE_LABELS } from "../../crds/labels.ts";
import { judgedObjects } from "../../crds/policy-template/compile.ts";
import { templateFault } from "../../crds/policy-template/lint.ts";
import { EXCEPT_UNJUDGED_CALLERS } from "../../crds/policy-template/policy-objects.ts";
import type { Policies } from "../../crds/policy-template/policies.ts";
import { hasReads, PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { createRefs } from "../../crds/policy-template/refs.ts";
import { findSubject, GATED_KINDS } from "../../crds/policy-template/subjects.ts";
import { judgeWrite } from "../../crds/policy-template/write.ts";
import { ALLOWED, type AdmissionDecision, type AdmissionRequest } from "../../kube/admission/admission-review.ts";
import type { WebhookScope } from "../../kube/admission/webhook-configuration.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import { watchFacts, type CachedFacts } from "./cached-facts.ts";
import type { LivePolicies } from "./live-policies.ts";

const SUBJECTS = GATED_KINDS.flatMap((kind) => findSubject(kind) ?? []);
/** Sentences of one answer. */
const MOST_SENTENCES = 10;

/** Objects of spaces, and templates: never an object of Kubernetes, nor of another namespace. */
export const POLICY_WEBHOOK_SCOPE: Omit<WebhookScope, "timeoutSeconds"> = {
  rules: [
    {
      apiGroups: [GROUP],
      apiVersions: [...new Set(SUBJECTS.map(({ version }) => version))],
      operations: ["CREATE", "UPDATE"],
      resources: SUBJECTS.map(({ plural }) => plural),
      scope: "Namespaced",
    },
    {
      apiGroups: [GROUP],
      apiVersions: [PolicyTemplate.version],
      operations: ["CREATE", "UPDATE"],
      resources: [PolicyTemplate.plural],
      scope: "Cluster",
    },
  ],
  namespaceSelector: { matchExpressions: [{ key: STABLE_LABELS.spaceName, operator: "Exists" }] },
  // The API judges before it writes.
  matchConditions: [...EXCEPT_UNJUDGED_CALLERS, EXCEPT_API, ...judgedObjects({ subjects: [...GATED_KINDS] })],
};

export interface PolicyWebhook {
  review(request: AdmissionRequest): AdmissionDecision;
  close(): Promise<void>;
}

/** Starts the watches of the kinds that rules read. `close` ends them. */
export function startPolicyWebhook(live: LivePolicies, informers: Informers): PolicyWebhook {
  const facts = watchFacts({
    policies: live,
    informers,
    name: "webhook-reads",
    isJudged: ({ template }) => hasReads(template),
    onChange: () => undefined,
  });
  return {
    review: (request) => review(request, { policies: live.policies(), gap: live.gap(), facts }),
    close: () => facts.close(),
  };
}

interface ReviewFacts {
  policies: Policies;
  /** Why policies may be missing. */
  gap: string | undefined;
  facts: Pick<CachedFacts, "of">;
}

/** The match conditions of the webhook leave the same out: they may have been changed. */
function review(request: AdmissionRequest, known: ReviewFacts): AdmissionDecision {
  const { kind, operation, object, oldObject, user } = request;
  if (kind.group !== GROUP || !object || isPlatformCaller(user.groups)) return ALLOWED;
  if (operation !== "CREATE" && operation !== "UPDATE") return ALLOWED;
  if (kind.kind === PolicyTemplate.kind) return reviewTemplate(object, oldObject);
  return reviewByPolicy({ ...request, object, operation }, known);
}

type Write = AdmissionRequest & { object: KubeObject; operation: "CREATE" | "UPDATE" };

/** Refuses a write that a rule denies. A write that cannot be judged passes with a warning. */
function reviewByPolicy(write: Write, { policies, gap, facts }: ReviewFacts): AdmissionDecision {
  const { kind, operation, namespace, object, oldObject, user } = write;
  if (gap !== undefined) return toDecision([], [`operator policy is not known to the webhook: ${gap}`]);
  const constraints = (policies.bySubject.get(kind.kind) ?? []).filter(({ template }) => hasReads(template));
  if (constraints.length === 0) return ALLOWED;
  const { namespaceLabels, list } = facts.of(namespace);
  if (!namespaceLabels)
    return toDecision(
      [],
      [`operator policy cannot be decided now, since the labels of namespace ${namespace} are not known`],
    );
  const { denied, warned } = judgeWrite(policies, constraints, {
    operation,
    object,
    oldObject,
    user,
    namespaceLabels,
    refs: createRefs(list, { object, namespaceLabels }),
  });
  return toDecision(denied, warned);
}

/** A mistake that is stored already may be edited around. */
function reviewTemplate(object: KubeObject, oldObject: KubeObject | undefined): AdmissionDecision {
  if (oldObject && isDeepStrictEqual(object["spec"], oldObject["spec"])) return ALLOWED;
  const spec = PolicyTemplate.spec.safeParse(object["spec"]);
  const fault = spec.success ? templateFault(spec.data) : undefined;
  return toDecision(fault ? [fault.message] : [], []);
}

function toDecision(denied: readonly string[], warned: readonly string[]): AdmissionDecision {
  const warnings = [...new Set(warned)].slice(0, MOST_SENTENCES);
  const message = [...new Set(denied)].slice(0, MOST_SENTENCES).join("; ");
  return message === ""
    ? { allowed: true, warnings }
    : { allowed: false, code: 422, reason: "Invalid", message, warnings };
}
