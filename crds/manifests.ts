// Everything of ours that a cluster must hold before the platform starts, in the order in which it can be applied. deploy/ holds it as files.
import { toCustomResourceDefinition } from "../kube/api/crd.ts";
import type { KubeObject } from "../kube/api/object.ts";
import { DEFINITIONS } from "./definitions.ts";
import { flagObjects } from "./feature-flag/default-objects.ts";
import { clusterRoles } from "./permissions.ts";
import { commonBindings, platformRole } from "./platform-role.ts";
import { admissionPolicies } from "./admission-policies.ts";

/** A generated file below deploy/ and the objects in it. */
export interface Manifest {
  file: string;
  objects: KubeObject[];
  /** Where the platform starts from: made when absent, never changed again. What an operator has set stays. */
  once?: true;
}

/** The generated files, in the order of application. */
export function manifests(): Manifest[] {
  return [
    ...DEFINITIONS.map((definition) => ({ file: `crds/${definition.plural}.${definition.group}.yaml`, objects: [toCustomResourceDefinition(definition)] })),
    { file: "rbac/roles.yaml", objects: [...clusterRoles(), platformRole()] },
    { file: "rbac/bindings.yaml", objects: commonBindings() },
    { file: "settings/feature-flags.yaml", objects: flagObjects(), once: true },
    { file: "policies/policies.yaml", objects: admissionPolicies() },
  ];
}
