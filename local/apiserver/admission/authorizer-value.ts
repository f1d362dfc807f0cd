// `authorizer` in expressions: asks the server's own authorizer about the user of the request.
import type { AdmissionRequest, AttributesRecord, Authorize, UserInfo } from "../types.ts";
import { declareMethods } from "../../../kube/cel/functions/registry.ts";
import { text } from "../../../kube/cel/functions/library.ts";
import { CelError, typeName, type CelOpaque, type CelValue } from "../../../kube/cel/values.ts";

type Methods = Record<string, (args: CelValue[]) => CelValue>;

declareMethods([
  "path",
  "group",
  "serviceAccount",
  "resource",
  "subresource",
  "namespace",
  "name",
  "fieldSelector",
  "labelSelector",
  "check",
  "allowed",
  "reason",
  "errored",
  "error",
]);

function opaque(type: string, methods: Methods, field?: CelOpaque["field"]): CelOpaque {
  const full = `kubernetes.authorization.${type}`;
  return {
    celKind: "opaque",
    type: full,
    call: (method, args) => {
      const apply = methods[method];
      if (!apply) throw new CelError(`no such overload: ${full}.${method}(${args.map(typeName).join(", ")})`);
      return apply(args);
    },
    ...(field && { field }),
  };
}

/** The value of `authorizer` for one request; `requestResource` is its field. */
export function authorizerValue(request: AdmissionRequest, authorize: Authorize): CelValue {
  const own: ResourceCheck = {
    group: request.gvr.group,
    resource: request.gvr.resource,
    subresource: request.subresource,
    namespace: request.namespace,
    name: request.name,
  };
  return asUser(request.user, authorize, (name) =>
    name === "requestResource" ? resourceCheck(request.user, authorize, own) : undefined,
  );
}

function asUser(user: UserInfo, authorize: Authorize, field?: CelOpaque["field"]): CelOpaque {
  return opaque(
    "Authorizer",
    {
      path: ([path]) => pathCheck(user, authorize, required(path, "path must not be empty")),
      group: ([group]) =>
        opaque("GroupCheck", {
          resource: ([resource]) =>
            resourceCheck(user, authorize, {
              group: text(group),
              resource: required(resource, "resource must not be empty"),
              subresource: "",
              namespace: "",
              name: "",
            }),
        }),
      serviceAccount: ([namespace, name]) => asUser(serviceAccount(text(namespace), text(name)), authorize),
    },
    field,
  );
}

function required(value: CelValue | undefined, fault: string): string {
  const given = text(value);
  if (given.trim() === "") throw new CelError(fault);
  return given;
}

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

function serviceAccount(namespace: string, name: string): UserInfo {
  if (!/^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/.test(name)) throw new CelError("Invalid service account name");
  if (!label.test(namespace)) throw new CelError("Invalid service account namespace");
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
  };
}

interface ResourceCheck {
  group: string;
  resource: string;
  subresource: string;
  namespace: string;
  name: string;
}

function resourceCheck(user: UserInfo, authorize: Authorize, check: ResourceCheck): CelOpaque {
  const narrowed = (part: Partial<ResourceCheck>) => resourceCheck(user, authorize, { ...check, ...part });
  return opaque("ResourceCheck", {
    subresource: ([value]) => narrowed({ subresource: text(value) }),
    namespace: ([value]) => narrowed({ namespace: text(value) }),
    name: ([value]) => narrowed({ name: text(value) }),
    fieldSelector: () => narrowed({}),
    labelSelector: () => narrowed({}),
    check: ([verb]) => decision(authorize({ user, verb: text(verb), version: "*", ...check })),
  });
}

function pathCheck(user: UserInfo, authorize: Authorize, path: string): CelOpaque {
  const none: Omit<AttributesRecord, "user" | "verb"> = {
    path,
    group: "",
    version: "",
    resource: "",
    subresource: "",
    namespace: "",
    name: "",
  };
  return opaque("PathCheck", { check: ([verb]) => decision(authorize({ user, verb: text(verb), ...none })) });
}

function decision({ allowed, reason }: { allowed: boolean; reason: string }): CelOpaque {
  return opaque("Decision", { allowed: () => allowed, reason: () => reason, errored: () => false, error: () => "" });
}
