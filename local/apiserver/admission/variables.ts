// The names that a policy's expressions may use, for one request and one param.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { AdmissionRequest, Authorize } from "../types.ts";
import type { Budget } from "../cel/compiled.ts";
import { evaluate, type Program } from "../cel/program.ts";
import { BudgetError, CelError, fromJson, jsonMap, type CelMap, type CelValue } from "../cel/values.ts";
import { authorizerValue } from "./authorizer-value.ts";

/** Finds a name's value. */
export type Lookup = (name: string) => CelValue | undefined;

/** `request` in expressions. As in the real server, empty name, namespace and subResource are absent. */
function requestValue(request: AdmissionRequest): CelMap {
  const { user, gvk, gvr, subresource } = request;
  return jsonMap({
    uid: "",
    kind: gvk,
    resource: gvr,
    ...(subresource && { subResource: subresource, requestSubResource: subresource }),
    requestKind: gvk,
    requestResource: gvr,
    ...(request.name && { name: request.name }),
    ...(request.namespace && { namespace: request.namespace }),
    operation: request.operation,
    userInfo: { username: user.name, ...(user.uid && { uid: user.uid }), groups: user.groups, extra: user.extra ?? {} },
    dryRun: request.dryRun,
    options: request.options ?? null,
  });
}

function namespaceValue(request: AdmissionRequest): CelValue {
  const isNamespace = request.gvr.group === "" && request.gvr.resource === "namespaces";
  if (!request.namespaceObject || isNamespace) return null;
  const { managedFields: _managed, ownerReferences: _owners, ...metadata } = request.namespaceObject.metadata;
  return fromJson({ ...request.namespaceObject, metadata });
}

/** Values shared by all policies that look at one request; each is made when it is first asked for. */
export function requestVariables(request: AdmissionRequest, authorize: Authorize): Lookup {
  const makers: Record<string, () => CelValue> = {
    object: () => fromJson(request.object ?? null),
    oldObject: () => fromJson(request.oldObject ?? null),
    request: () => requestValue(request),
    namespaceObject: () => namespaceValue(request),
    authorizer: () => authorizerValue(request, authorize),
  };
  const made = new Map<string, CelValue>();
  return (name) => {
    const known = made.get(name);
    if (known !== undefined || !Object.hasOwn(makers, name)) return known;
    const value = (makers[name] as () => CelValue)();
    made.set(name, value);
    return value;
  };
}

/** Adds `params` and the policy's own `variables`, each of which is evaluated once, when it is first used. */
export function policyVariables(
  base: Lookup,
  param: KubeObject | undefined,
  named: ReadonlyMap<string, Program>,
  budget: Budget,
): Lookup {
  const params = fromJson(param ?? null);
  const results = new Map<string, CelValue | CelError>();
  const lookup: Lookup = (name) => {
    if (name === "params") return params;
    return name === "variables" ? variables : base(name);
  };
  const variables: CelMap = {
    celKind: "map",
    keys: () => [...named.keys()],
    get: (key) => {
      const program = typeof key === "string" ? named.get(key) : undefined;
      if (!program || typeof key !== "string") return undefined;
      const result = results.get(key) ?? evaluateVariable(key, program, lookup, budget);
      results.set(key, result);
      if (result instanceof CelError) throw result;
      return result;
    },
  };
  return lookup;
}

function evaluateVariable(name: string, program: Program, lookup: Lookup, budget: Budget): CelValue | CelError {
  try {
    return evaluate(program, lookup, budget);
  } catch (error) {
    if (!(error instanceof CelError) || error instanceof BudgetError) throw error;
    return new CelError(`composited variable ${JSON.stringify(name)} fails to evaluate: ${error.message}`, {
      cause: error,
    });
  }
}
