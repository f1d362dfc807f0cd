// The admissionregistration.k8s.io kinds as the evaluator reads them. Types only.
import type { LabelSelector } from "../../api/label-selector.ts";
import type { KubeObject } from "../../api/object.ts";

export interface ResourceRule {
  apiGroups?: string[];
  apiVersions?: string[];
  operations?: string[];
  resources?: string[];
  resourceNames?: string[];
  scope?: string;
}

export interface MatchResources {
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
  resourceRules?: ResourceRule[];
  excludeResourceRules?: ResourceRule[];
  matchPolicy?: string;
}

export interface Validation {
  expression: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
}

export interface NamedExpression {
  name: string;
  expression: string;
}

export interface PolicySpec {
  failurePolicy?: string;
  paramKind?: { apiVersion: string; kind: string };
  matchConstraints?: MatchResources;
  matchConditions?: NamedExpression[];
  variables?: NamedExpression[];
  validations?: Validation[];
  auditAnnotations?: { key: string; valueExpression: string }[];
}

export interface BindingSpec {
  policyName: string;
  paramRef?: { name?: string; namespace?: string; selector?: LabelSelector; parameterNotFoundAction?: string };
  matchResources?: MatchResources;
  validationActions?: string[];
}

/** Where a webhook listens: an address, or a Service of the cluster. */
export interface ClientConfig {
  url?: string;
  service?: { namespace: string; name: string; path?: string; port?: number };
  /** PEM, as base64. */
  caBundle?: string;
}

export interface Webhook {
  name: string;
  clientConfig: ClientConfig;
  rules?: ResourceRule[];
  failurePolicy?: string;
  matchPolicy?: string;
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
  matchConditions?: NamedExpression[];
  sideEffects?: string;
  timeoutSeconds?: number;
  admissionReviewVersions?: string[];
  /** Mutating webhooks only. */
  reinvocationPolicy?: string;
}

export type WebhookConfiguration = KubeObject & { webhooks?: Webhook[] };
export type Policy = KubeObject & { spec: PolicySpec };
export type PolicyBinding = KubeObject & { spec: BindingSpec };
