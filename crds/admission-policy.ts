// The shape of our admission policies, common expressions, and the two Kubernetes objects of each policy.
import type { KubeObject } from "../kube/api/object.ts";
import type { ResourceRef } from "../kube/api/resource-ref.ts";
import { API_FIELD_MANAGER, SYSTEM_NAMESPACE } from "./groups.ts";
import { PLATFORM_GROUP } from "./platform-role.ts";

const API_VERSION = "admissionregistration.k8s.io/v1";

export interface Validation {
  expression: string;
  message?: string;
  messageExpression?: string;
  reason: "Forbidden" | "Invalid";
}

export interface AdmissionPolicy {
  name: string;
  /** Plurals, with the subresource if any. */
  resources: readonly { group: string; plural: string }[];
  operations: readonly ("CREATE" | "UPDATE" | "DELETE")[];
  variables?: { name: string; expression: string }[];
  matchConditions?: { name: string; expression: string }[];
  validations: Validation[];
  /** Restricts the policy to namespaces with this label; with `values`, to those where it has one of them; with `absent`, to those without it. */
  namespaceLabel?: { key: string; values?: readonly string[]; absent?: true };
  /** The object that the policy reads as `params`. While it is missing everything is allowed, or with `required` everything is denied. */
  params?: { apiVersion: string; kind: string; name: string; required: boolean };
}

/** A rule of a policy: what does not meet it is refused with the message. */
export function forbid(expression: string, message: string): Validation {
  return { expression, message, reason: "Forbidden" };
}

/** The policy and its binding. */
export function toPolicyObjects(policy: AdmissionPolicy): KubeObject[] {
  const { params } = policy;
  const metadata = { name: policy.name };
  return [
    {
      apiVersion: API_VERSION,
      kind: "ValidatingAdmissionPolicy",
      metadata,
      spec: {
        failurePolicy: "Fail",
        ...(params && { paramKind: { apiVersion: params.apiVersion, kind: params.kind } }),
        matchConstraints: { resourceRules: resourceRules(policy), namespaceSelector: namespaceSelector(policy) },
        ...(policy.matchConditions && { matchConditions: policy.matchConditions }),
        ...(policy.variables && { variables: policy.variables }),
        validations: policy.validations,
      },
    },
    {
      apiVersion: API_VERSION,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: {
        policyName: policy.name,
        ...(params && {
          paramRef: {
            name: params.name,
            namespace: SYSTEM_NAMESPACE,
            parameterNotFoundAction: params.required ? "Deny" : "Allow",
          },
        }),
        validationActions: ["Deny"],
      },
    },
  ];
}

function resourceRules({ resources, operations }: AdmissionPolicy): object[] {
  return [...new Set(resources.map((resource) => resource.group))].map((group) => ({
    apiGroups: [group],
    apiVersions: ["*"],
    operations: [...operations],
    resources: resources.filter((resource) => resource.group === group).map((resource) => resource.plural),
  }));
}

function namespaceSelector({ namespaceLabel }: AdmissionPolicy): object {
  if (!namespaceLabel) return {};
  const { key, values, absent } = namespaceLabel;
  if (values) return { matchExpressions: [{ key, operator: "In", values: [...values] }] };
  return { matchExpressions: [{ key, operator: absent ? "DoesNotExist" : "Exists" }] };
}

/**
 * kube-apiserver's CEL cost limit allows two authorizer checks per expression; a third fails at run time. A variable is an expression of its own.
 */
export const MAX_AUTHORIZER_CHECKS = 2;

/** A CEL check of one permission of the caller. `namespace` and `name` are expressions; without them the check is for the whole cluster or namespace. */
export function authorizerAllows(right: {
  group: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name?: string;
  verb: string;
}): string {
  const { group, resource, subresource, namespace, name, verb } = right;
  const narrowed = `${subresource ? `.subresource('${subresource}')` : ""}${namespace ? `.namespace(${namespace})` : ""}${name ? `.name(${name})` : ""}`;
  return `authorizer.group('${group}').resource('${resource}')${narrowed}.check('${verb}').allowed()`;
}

/** The platform's identities are those that may create claims; that includes admins. */
export const CALLER_IS_PLATFORM = authorizerAllows({
  group: "cupola.dev",
  resource: "claims",
  namespace: `'${SYSTEM_NAMESPACE}'`,
  verb: "create",
});

/** CF admins: callers who may update every org. */
export const CALLER_IS_ADMIN = authorizerAllows({ group: "cupola.dev", resource: "orgs", verb: "update" });

/** Match condition: skips requests of Kubernetes' own components, such as emptying a terminating namespace or garbage collection. */
export const EXCEPT_KUBERNETES_COMPONENTS = {
  name: "not-kubernetes",
  expression:
    "!request.userInfo.username.startsWith('system:serviceaccount:kube-system:') && !request.userInfo.username.startsWith('system:kube-')",
};

/** Match condition: skips these and members of system:masters. */
export const EXCEPT_KUBERNETES = {
  name: "not-the-cluster",
  expression: `${EXCEPT_KUBERNETES_COMPONENTS.expression} && !('system:masters' in request.userInfo.groups)`,
};

const PLATFORM_CALLER = `('${PLATFORM_GROUP}' in request.userInfo.groups || 'system:serviceaccounts:${SYSTEM_NAMESPACE}' in request.userInfo.groups)`;

/** PLATFORM_CALLER, of a caller's groups. */
export function isPlatformCaller(groups: readonly string[]): boolean {
  return groups.includes(PLATFORM_GROUP) || groups.includes(`system:serviceaccounts:${SYSTEM_NAMESPACE}`);
}

/** Match condition: skips requests of the platform. For policies that apply to admins. */
export const EXCEPT_PLATFORM = { name: "not-the-platform", expression: `!${PLATFORM_CALLER}` };

/** Match condition: skips writes of the CF API. Any client may borrow its field manager, so this is for webhooks that only refuse early. */
export const EXCEPT_API = {
  name: "not-the-api",
  expression: `!has(request.options.fieldManager) || request.options.fieldManager != "${API_FIELD_MANAGER}"`,
};

/** Match condition: only requests of the platform. For policies that restrict it beyond its role. */
export const ONLY_PLATFORM = { name: "the-platform", expression: PLATFORM_CALLER };

/** Group and plural of a kind, or of its `subresource`. */
export function toPolicyResource(
  { group, plural }: Pick<ResourceRef, "group" | "plural">,
  subresource?: string,
): { group: string; plural: string } {
  return { group, plural: subresource ? `${plural}/${subresource}` : plural };
}

/**
 * Variables and a condition for names that a write adds to a list: at most `most`, each with the right that `mayAdd` gives for an expression of
 * its name. The names themselves are `variables.added`.
 */
export function addedNames(
  namesOf: (object: string) => string,
  { most, mayAdd }: { most: number; mayAdd: (name: string) => string },
): { variables: { name: string; expression: string }[]; allAllowed: string } {
  const checks = Array.from({ length: most }, (_none, at) => ({
    name: `may${at}`,
    expression: `size(variables.added) <= ${at} || ${mayAdd(`variables.added[${at}]`)}`,
  }));
  return {
    variables: [
      { name: "before", expression: namesOf("oldObject") },
      { name: "added", expression: `${namesOf("object")}.filter(name, !(name in variables.before))` },
      // Each is an expression of its own: the cost limit of one allows two checks.
      ...checks,
    ],
    allAllowed: checks.map(({ name }) => `variables.${name}`).join(" && "),
  };
}

/** Spaces that one write may add, to the shared ones or to those of destinations. */
export const MAX_ADDED_SPACES = 8;

/** Whoever adds a space to `spec.sharedSpaces` may update objects of the kind there. */
export function sharingPolicy(
  on: Pick<ResourceRef, "group" | "plural">,
  { name, noun }: { name: string; noun: string },
): AdmissionPolicy {
  const spacesOf = (object: string): string =>
    `(${object} == null || !has(${object}.spec.sharedSpaces) ? [] : ${object}.spec.sharedSpaces)`;
  const { variables, allAllowed } = addedNames(spacesOf, {
    most: MAX_ADDED_SPACES,
    mayAdd: (namespace) => authorizerAllows({ group: on.group, resource: on.plural, namespace, verb: "update" }),
  });
  return {
    name,
    resources: [toPolicyResource(on)],
    operations: ["CREATE", "UPDATE"],
    variables,
    validations: [
      {
        expression: `size(variables.added) <= ${MAX_ADDED_SPACES} || ${CALLER_IS_PLATFORM}`,
        message: `share a ${noun} with at most ${MAX_ADDED_SPACES} more spaces at a time`,
        reason: "Forbidden",
      },
      {
        expression: `(${allAllowed}) || ${CALLER_IS_PLATFORM}`,
        message: `sharing a ${noun} with a space needs the right to update ${noun}s there`,
        reason: "Forbidden",
      },
    ],
  };
}
