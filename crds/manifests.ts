// The objects that a cluster needs before the platform starts, in the order of application. deploy/ holds them as files.
import { toCustomResourceDefinition } from "../kube/api/crd.ts";
import type { KubeObject } from "../kube/api/object.ts";
import { backendClassObjects } from "./backend-class/default-objects.ts";
import { DEFINITIONS } from "./definitions.ts";
import { environmentGroupObjects } from "./environment-group/default-objects.ts";
import { featureFlagObjects } from "./feature-flag/default-objects.ts";
import { sharedSegmentObject } from "./isolation-segment/shared-segment.ts";
import { policyTemplateObjects } from "./policy-template/default-templates.ts";
import { listClusterRoles } from "./role-permissions.ts";
import { authenticatedUserBindings, platformRole } from "./platform-role.ts";
import { listAdmissionPolicies } from "./admission-policies.ts";
import { restorerRole } from "./restorer-role.ts";

/** A generated file below deploy/ and the objects in it. */
export interface Manifest {
  file: string;
  objects: KubeObject[];
  /** Left out on a laptop, where local/seed.ts creates its own. */
  clusterOnly?: true;
}

let manifests: readonly Manifest[] | undefined;

/** The generated files, in the order of application. Made once: a start on a laptop asks for them twice. */
export function listManifests(): readonly Manifest[] {
  return (manifests ??= makeManifests());
}

function makeManifests(): Manifest[] {
  return [
    ...DEFINITIONS.map((definition) => ({
      file: `crds/${definition.plural}.${definition.group}.yaml`,
      objects: [toCustomResourceDefinition(definition)],
    })),
    { file: "rbac/roles.yaml", objects: [...listClusterRoles(), restorerRole(), platformRole()] },
    { file: "rbac/bindings.yaml", objects: authenticatedUserBindings() },
    { file: "settings/feature-flags.yaml", objects: featureFlagObjects() },
    { file: "settings/environment-groups.yaml", objects: environmentGroupObjects() },
    { file: "settings/isolation-segments.yaml", objects: [sharedSegmentObject()] },
    { file: "settings/policy-templates.yaml", objects: policyTemplateObjects() },
    { file: "settings/backend-classes.yaml", objects: backendClassObjects(), clusterOnly: true },
    { file: "policies/policies.yaml", objects: listAdmissionPolicies() },
  ];
}
