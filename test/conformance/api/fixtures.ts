// Objects that an operator puts into a fresh platform: classes, a shared domain, a stack, a buildpack, the default quota.
import { NETWORK_CONFIG } from "../../../crds/network-config.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { OrgQuota } from "../../../crds/org-quota/org-quota.ts";
import { Stack } from "../../../crds/stack/stack.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import type { KubeObject } from "../../../kube/api/object.ts";

export function fixtures(): KubeObject[] {
  return [
    // Brokers of spaces are on this machine.
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: NETWORK_CONFIG, namespace: SYSTEM_NAMESPACE },
      data: { "broker-egress-cidrs": "127.0.0.1/32" },
    },
    systemObject(BackendClass, "builder", { role: "builder", default: true }),
    systemObject(BackendClass, "runner", { role: "runner", default: true }),
    systemObject(BackendClass, "task-runner", { role: "task-runner", default: true }),
    systemObject(BackendClass, "router", { role: "router", default: true }),
    systemObject(Domain, "apps.example", { name: "apps.example" }),
    systemObject(Stack, "base", { name: "base", default: true }),
    systemObject(Buildpack, "nodejs", { name: "nodejs", position: 1 }),
    systemObject(OrgQuota, "default", { name: "default", default: true }),
  ];
}
