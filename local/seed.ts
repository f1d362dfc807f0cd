// The objects of the first start, so that `cup push` works at once. Pure.
import type { KubeObject } from "../kube/api/object.ts";
import { apiVersionOf } from "../kube/api/resource-ref.ts";
import { bundledBuildpacks } from "../backends/builders/host/bundled-buildpacks.ts";
import { BackendClass } from "../crds/backend-class/backend-class.ts";
import { Buildpack } from "../crds/buildpack/buildpack.ts";
import { Domain } from "../crds/domain/domain.ts";
import { OrgQuota } from "../crds/org-quota/org-quota.ts";
import { Org } from "../crds/org/org.ts";
import { CF_ROLES, type CFRole } from "../crds/roles.ts";
import { Space } from "../crds/space/space.ts";
import { Stack } from "../crds/stack/stack.ts";
import { SYSTEM_NAMESPACE } from "../crds/groups.ts";
import { NETWORK_CONFIG } from "../crds/network-config.ts";
import { systemObject } from "../crds/settings-object.ts";

export const LOCAL_DOMAIN = "apps.localhost";
export const LOCAL_ORG = "local";
export const LOCAL_SPACE = "dev";
/** The kubeconfig's second user: has roles in the first org and space, and nowhere else. */
export const DEVELOPER = "developer";

export const LOCAL_ROUTER = "local";
/** Above the ports that Linux gives to connections, and below those that some systems give. */
const LOCAL_TCP = { tcpPorts: "20000-20099", tcpGroup: "default-tcp" };

/** The parameters that give the router of an older home its TCP ports; undefined where a person has said something about them. */
export function planTCPPorts({ spec }: Pick<BackendClass, "spec">): Record<string, string> | undefined {
  return Object.keys(LOCAL_TCP).some((key) => spec.parameters?.[key] !== undefined) ? undefined : LOCAL_TCP;
}

/** Domain, stack, buildpacks, quota, classes, settings and the first org. */
export function seedObjects(): KubeObject[] {
  return [
    // Nothing here enforces NetworkPolicies, so none are made.
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: NETWORK_CONFIG, namespace: SYSTEM_NAMESPACE },
      data: { isolation: "off" },
    },
    systemObject(BackendClass, "host", { role: "builder", default: true }),
    systemObject(BackendClass, "process", { role: "runner", default: true }),
    systemObject(BackendClass, LOCAL_ROUTER, { role: "router", default: true, parameters: LOCAL_TCP }),
    systemObject(Domain, LOCAL_DOMAIN, { name: LOCAL_DOMAIN }),
    systemObject(Stack, "host", { name: "host", description: "This machine, as it is", default: true }),
    ...seedSubstituteStacks(),
    ...seedBuildpacks(),
    systemObject(OrgQuota, "default", { name: "default", default: true }),
    systemObject(Org, LOCAL_ORG, {}),
  ];
}

/** Stacks that manifests written for other Cloud Foundries name, but for those that a person has made already. */
export function seedSubstituteStacks(known: readonly Stack[] = []): KubeObject[] {
  const description = "For manifests that name it: their apps run on host";
  return ["cflinuxfs4"]
    .filter((name) => known.every(({ metadata, spec }) => metadata.name !== name && spec.name !== name))
    .map((name) => systemObject(Stack, name, { name, description, substitute: "host" }));
}

/** The bundled buildpacks, in the order of detection. */
export function seedBuildpacks(): KubeObject[] {
  return bundledBuildpacks.map((name, at) =>
    systemObject(Buildpack, name, { name: `${name}_buildpack`, path: name, position: at + 1 }),
  );
}

/** The class that runs tasks. */
export function seedTaskRunner(): KubeObject {
  return systemObject(BackendClass, "process-task", { role: "task-runner", default: true });
}

/** The first space, once the org has its namespace. */
export function seedSpace(orgNamespace: string): KubeObject {
  return {
    apiVersion: apiVersionOf(Space),
    kind: Space.kind,
    metadata: { name: LOCAL_SPACE, namespace: orgNamespace },
    spec: {},
  };
}

/** The developer's roles in the first org and space. */
export function seedRoles(orgNamespace: string, spaceNamespace: string): KubeObject[] {
  return [
    roleBinding(orgNamespace, "organization_user"),
    roleBinding(orgNamespace, "organization_manager"),
    roleBinding(spaceNamespace, "space_developer"),
    roleBinding(spaceNamespace, "space_manager"),
  ];
}

function roleBinding(namespace: string, role: CFRole): KubeObject {
  const group = "rbac.authorization.k8s.io";
  return {
    apiVersion: `${group}/v1`,
    kind: "RoleBinding",
    metadata: { name: `${role.replace("_", "-")}-${DEVELOPER}`, namespace },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: CF_ROLES[role].clusterRole },
    subjects: [{ kind: "User", apiGroup: group, name: DEVELOPER }],
  };
}
