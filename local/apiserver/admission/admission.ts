// Admission by ValidatingAdmissionPolicy: which policies a write concerns, with which params, and the refusal in kube-apiserver's words.
import type { KubeObject } from "../../../kube/api/object.ts";
import type {
  AdmissionRequest,
  AdmissionResult,
  Authorize,
  PolicyAdmission,
  ResourceReader,
  StatusBody,
} from "../types.ts";
import { selectorMatches } from "../../../kube/api/label-selector.ts";
import { admissionGroup as group, isExempt, mayMatch, requestMatches } from "./match.ts";
import {
  compilePolicy,
  evaluatePolicy,
  failsOpen,
  type CompiledPolicy,
  type Denial,
} from "../../../kube/admission/policy/policy.ts";
import type { Policy, PolicyBinding } from "../../../kube/admission/policy/types.ts";
import type { Lookup } from "../../../kube/admission/policy/variables.ts";
import { requestVariables } from "./variables.ts";

export interface PolicyAdmissionDeps {
  reader: ResourceReader;
  authorize: Authorize;
}

interface State {
  policies: Map<string, CompiledPolicy>;
  /** By policy name, then binding name. */
  bindings: Map<string, Map<string, PolicyBinding>>;
  /** The policies that writes of one kind may concern: most concern none of most kinds. */
  ofOperation: Map<string, CompiledPolicy[]>;
}

/** Follows the policies and bindings in the store; a write is judged by what was committed before it. */
export function createPolicyAdmission({ reader, authorize }: PolicyAdmissionDeps): PolicyAdmission {
  const state: State = { policies: new Map(), bindings: new Map(), ofOperation: new Map() };
  const stops = [
    follow(reader, "validatingadmissionpolicies", (name, object) => setPolicy(state, name, object)),
    follow(reader, "validatingadmissionpolicybindings", (name, object, old) => setBinding(state, name, object, old)),
  ];
  return {
    admit: (request) => admit(state, request, { reader, authorize }),
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}

type OnObject = (name: string, object: KubeObject | undefined, old: KubeObject | undefined) => void;

function follow(reader: ResourceReader, resource: string, onObject: OnObject): () => void {
  for (const object of reader.list(group, resource)) onObject(object.metadata.name, object, undefined);
  return reader.subscribe(group, resource, (event) => {
    onObject(
      event.object.metadata.name,
      event.type === "DELETED" ? undefined : event.object,
      event.oldObject ?? event.object,
    );
  });
}

function setPolicy(state: State, name: string, object: KubeObject | undefined): void {
  state.ofOperation.clear();
  if (object) state.policies.set(name, compilePolicy(object as Policy));
  else state.policies.delete(name);
}

function setBinding(state: State, name: string, object: KubeObject | undefined, old: KubeObject | undefined): void {
  if (old) state.bindings.get((old as PolicyBinding).spec.policyName)?.delete(name);
  if (!object) return;
  const binding = object as PolicyBinding;
  const named = state.bindings.get(binding.spec.policyName) ?? new Map<string, PolicyBinding>();
  state.bindings.set(binding.spec.policyName, named.set(name, binding));
}

interface Denied extends Denial {
  policy: string;
  /** Undefined when the policy itself is at fault. */
  binding: string | undefined;
}

interface Verdict {
  denied: Denied[];
  warnings: string[];
}

/** For policies, a request about a Namespace is one in that namespace. */
function placed(request: AdmissionRequest): AdmissionRequest {
  return request.gvr.group === "" && request.gvr.resource === "namespaces"
    ? { ...request, namespace: request.name }
    : request;
}

function admit(state: State, original: AdmissionRequest, deps: PolicyAdmissionDeps): AdmissionResult {
  const verdict: Verdict = { denied: [], warnings: [] };
  if (isExempt(original)) return { allowed: true, warnings: [] };
  const request = placed(original);
  const variables = requestVariables(request, deps.authorize);
  for (const compiled of policiesFor(state, request)) {
    const bindings = state.bindings.get(compiled.policy.metadata.name);
    if (!bindings?.size || !requestMatches(compiled.policy.spec.matchConstraints, request)) continue;
    judge(compiled, bindings, { request, variables, reader: deps.reader }, verdict);
  }
  const [first] = verdict.denied;
  const { warnings } = verdict;
  return first ? { allowed: false, warnings, status: refusal(request, first) } : { allowed: true, warnings };
}

function policiesFor({ policies, ofOperation }: State, request: AdmissionRequest): CompiledPolicy[] {
  const { operation, gvr, subresource } = request;
  const key = [operation, gvr.group, gvr.resource, subresource].join(" ");
  let found = ofOperation.get(key);
  if (!found) {
    found = [...policies.values()].filter(({ policy }) => mayMatch(policy.spec.matchConstraints, request));
    ofOperation.set(key, found);
  }
  return found;
}

interface Case {
  request: AdmissionRequest;
  variables: Lookup;
  reader: ResourceReader;
}

function judge(compiled: CompiledPolicy, bindings: Map<string, PolicyBinding>, on: Case, verdict: Verdict): void {
  const policy = compiled.policy.metadata.name;
  const broken = compiled.broken ?? paramKindFault(compiled, on.reader);
  if (broken !== undefined) {
    if (!failsOpen(compiled.policy))
      verdict.denied.push({
        policy,
        binding: undefined,
        message: `failed to configure policy: ${broken}`,
        reason: "Invalid",
      });
    return;
  }
  for (const [name, binding] of bindings) {
    if (requestMatches(binding.spec.matchResources, on.request)) judgeBinding(compiled, { name, binding }, on, verdict);
  }
}

function judgeBinding(
  compiled: CompiledPolicy,
  { name, binding }: { name: string; binding: PolicyBinding },
  on: Case,
  verdict: Verdict,
): void {
  const policy = compiled.policy.metadata.name;
  const params = collectParams(compiled, binding, on);
  if (typeof params === "string") {
    if (!failsOpen(compiled.policy))
      verdict.denied.push({
        policy,
        binding: name,
        message: `failed to configure binding: ${params}`,
        reason: "Invalid",
      });
    return;
  }
  const actions = binding.spec.validationActions ?? [];
  for (const denial of params.flatMap((param) => evaluatePolicy(compiled, on.variables, param))) {
    if (actions.includes("Deny")) verdict.denied.push({ policy, binding: name, ...denial });
    if (actions.includes("Warn"))
      verdict.warnings.push(
        `Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${name}': ${denial.message}`,
      );
  }
}

function splitKind({ apiVersion, kind }: { apiVersion: string; kind: string }): { group: string; kind: string } {
  return { group: apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "", kind };
}

function paramKindFault({ policy }: CompiledPolicy, reader: ResourceReader): string | undefined {
  const { paramKind } = policy.spec;
  if (!paramKind) return undefined;
  const { group: ofGroup, kind } = splitKind(paramKind);
  return reader.findKind(ofGroup, kind)
    ? undefined
    : `failed to find resource referenced by paramKind: '${paramKind.apiVersion}, Kind=${kind}'`;
}

/** The params to evaluate with; `[undefined]` for a policy without any; a text when the binding cannot work. */
function collectParams(
  { policy }: CompiledPolicy,
  binding: PolicyBinding,
  { request, reader }: Case,
): (KubeObject | undefined)[] | string {
  const { paramKind } = policy.spec;
  const { paramRef } = binding.spec;
  if (!paramKind || !paramRef) return [undefined];
  const { group: ofGroup, kind } = splitKind(paramKind);
  const served = reader.findKind(ofGroup, kind);
  if (!served) return `paramKind kind \`${kind}\` not known`;
  const namespace = paramNamespace(paramRef.namespace, served.namespaced, request);
  if (namespace.fault !== undefined) return namespace.fault;
  const found = paramRef.name
    ? [reader.find(ofGroup, served.gvr.resource, namespace.name, paramRef.name)].filter((one) => one !== undefined)
    : reader
        .list(ofGroup, served.gvr.resource, namespace.name || undefined)
        .filter((one) => selectorMatches(paramRef.selector, one.metadata.labels));
  if (found.length === 0 && paramRef.parameterNotFoundAction === "Deny")
    return "no params found for policy binding with `Deny` parameterNotFoundAction";
  return found;
}

/** Namespaced params are looked for in the named namespace, else in the request's own. */
function paramNamespace(
  named: string | undefined,
  namespaced: boolean,
  request: AdmissionRequest,
): { name: string; fault?: string } {
  if (!namespaced)
    return {
      name: "",
      ...(named && { fault: "paramRef.namespace must not be provided for a cluster-scoped `paramKind`" }),
    };
  const name = named || request.namespace;
  return {
    name,
    ...(!name && { fault: "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources" }),
  };
}

const codes: Record<string, number> = { Unauthorized: 401, Forbidden: 403, RequestEntityTooLarge: 413 };

/** The answer for the first denial; its code follows from its reason. */
function refusal(request: AdmissionRequest, denied: Denied): StatusBody {
  const { gvr, object } = request;
  const name = request.name || object?.metadata.name || object?.metadata.generateName || "Unknown";
  const via = denied.binding === undefined ? "" : ` with binding '${denied.binding}'`;
  const message = `ValidatingAdmissionPolicy '${denied.policy}'${via} denied request: ${denied.message}`;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `${gvr.group ? `${gvr.resource}.${gvr.group}` : gvr.resource} "${name}" is forbidden: ${message}`,
    reason: denied.reason,
    details: { name, ...(gvr.group && { group: gvr.group }), kind: gvr.resource, causes: [{ message }] },
    code: codes[denied.reason] ?? 422,
  };
}
