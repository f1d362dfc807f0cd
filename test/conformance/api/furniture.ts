// What an operator puts into a fresh platform: classes, a shared domain, a stack, a buildpack, the default quota.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { OrgQuota } from "../../../crds/org-quota/org-quota.ts";
import { Stack } from "../../../crds/stack/stack.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { apiVersionOf, type ResourceRef } from "../../../kube/resource-ref.ts";

function make(ref: ResourceRef, name: string, spec: object): KubeObject {
  return { apiVersion: apiVersionOf(ref), kind: ref.kind, metadata: { name, ...(ref.namespaced && { namespace: SYSTEM_NAMESPACE }) }, spec };
}

export function furniture(): KubeObject[] {
  return [
    make(BackendClass, "builder", { role: "builder", default: true }),
    make(BackendClass, "runner", { role: "runner", default: true }),
    make(BackendClass, "router", { role: "router", default: true }),
    make(Domain, "apps.example", { name: "apps.example" }),
    make(Stack, "base", { name: "base", default: true }),
    make(Buildpack, "nodejs", { name: "nodejs", position: 1 }),
    make(OrgQuota, "default", { name: "default", default: true }),
  ];
}
