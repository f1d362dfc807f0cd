// The names that a policy's expressions may use, for one request.
import type { AdmissionRequest, Authorize } from "../types.ts";
import type { Lookup } from "../../../kube/admission/policy/variables.ts";
import { fromJson, jsonMap, type CelMap, type CelValue } from "../../../kube/cel/values.ts";
import { authorizerValue } from "./authorizer-value.ts";

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
