// Plans a Space: labels of its namespace, consent to adoption, and its members' permissions. Pure.
import { isReservedNamespace } from "../../crds/namespace-name.ts";
import { GROUP } from "../../crds/groups.ts";
import { guidOf, isGUID } from "../../crds/guid.ts";
import { ANNOTATIONS, LABELS, SUSPENDED } from "../../crds/labels.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import type { Org } from "../../crds/org/org.ts";
import { ORG_AUDITOR_IN_SPACE, ORG_MANAGER_IN_SPACE } from "../../crds/roles.ts";
import { toNamespaceLabels } from "../../crds/space/namespace-labels.ts";
import type { Space } from "../../crds/space/space.ts";
import type { Draft } from "../../kube/client/client.ts";
import { Stalled, type ReadyDraft } from "../../kube/controller/controller.ts";
import { listSubjects, planRoleBindings, planRoleGrant, type RoleBindingObject } from "../shared/role-bindings.ts";
import type { NamespaceMetadata, NamespaceObject } from "../shared/owned-namespace.ts";

/** `name` is the effective name of the Space. An Org's status holds its effective name. */
export function planSpaceNamespace(
  space: Space,
  org: Org,
  { guid, name }: { guid: string; name: string | undefined },
): NamespaceMetadata {
  return {
    labels: {
      ...toNamespaceLabels({ org: org.metadata, space: space.metadata }),
      [LABELS.namespaceKind]: "space",
      [LABELS.space]: guid,
      [LABELS.org]: guidOf(org),
      [LABELS.suspended]: org.spec.suspended ? SUSPENDED.org : space.spec.suspended ? SUSPENDED.space : undefined,
    },
    annotations: { [ANNOTATIONS.spaceName]: name, [ANNOTATIONS.orgName]: org.status?.name ?? displayNameOf(org) },
  };
}

/** kubectl may name an isolation segment that the org may not use: the Space says so, and its apps run as if it named none. */
export function planSegmentProblem({ spec }: Space, org: Org): ReadyDraft | undefined {
  const segment = spec.isolationSegment;
  if (segment === undefined || org.spec.isolationSegments.includes(segment)) return undefined;
  return {
    status: "False",
    reason: "SegmentNotAllowed",
    message: `org ${org.metadata.name} may not use the isolation segment ${segment}; add it to the Org's spec.isolationSegments, or name another one`,
    isFailure: true,
  };
}

/**
 * Checks that this Space may adopt the namespace that it names. A user who may update the namespace consents by the label adoptable-by. Its
 * value is the org's uid, its object name, `<org>.<space>`, or `any`. A namespace that the Space already owns needs no consent.
 * @throws Stalled when not
 */
export function checkAdoptionConsent(space: Space, org: Org, namespace: NamespaceObject): void {
  const { name, labels = {} } = namespace.metadata;
  if (isReservedNamespace(name)) throw new Stalled("NamespaceReserved", `namespace ${name} cannot be a space's`);
  const owner = labels[LABELS.ownerUid];
  if (owner === space.metadata.uid) return;
  if (owner !== undefined) throw new Stalled("NamespaceTaken", `namespace ${name} belongs to another org or space`);
  const consent = labels[LABELS.adoptableBy];
  const { name: orgName, uid } = org.metadata;
  // Consent to a uid is not consent to an org whose name looks like that uid.
  const accepted = ["any", uid, ...(isGUID(orgName) ? [] : [orgName, `${orgName}.${space.metadata.name}`])];
  if (consent === undefined || !accepted.includes(consent)) {
    throw new Stalled(
      "NotConsented",
      `namespace ${name} does not consent: label it ${LABELS.adoptableBy}=${org.metadata.name}`,
    );
  }
}

export interface SpaceBindings {
  org: readonly RoleBindingObject[];
  space: readonly RoleBindingObject[];
}

/** Members read the Space by its name and its managers update it; the org's managers read the space's contents, and the org's auditors its routes. */
export function planSpacePermissions(space: Space, namespace: string, bindings: SpaceBindings): Draft[] {
  const { name, uid = "", namespace: orgNamespace } = space.metadata;
  const quota = space.spec.quotaRef?.name;
  const spaces = { apiGroups: [GROUP], resources: ["spaces"], resourceNames: [name] };
  return [
    ...planRoleGrant({
      name: `cupola-space-${name}-read`,
      unique: `read/${uid}`,
      namespace: orgNamespace,
      rules: [
        { ...spaces, verbs: ["get", "list", "watch"] },
        // Members see the limits that hold for them.
        ...(quota === undefined
          ? []
          : [
              {
                apiGroups: [GROUP],
                resources: ["spacequotas"],
                resourceNames: [quota],
                verbs: ["get", "list", "watch"],
              },
            ]),
      ],
      subjects: listSubjects(bindings.space),
    }),
    ...planRoleGrant({
      name: `cupola-space-${name}-manage`,
      unique: `manage/${uid}`,
      namespace: orgNamespace,
      rules: [{ ...spaces, verbs: ["update", "patch"] }],
      subjects: listSubjects(bindings.space, ["space_manager"]),
    }),
    ...planRoleBindings(ORG_MANAGER_IN_SPACE, namespace, listSubjects(bindings.org, ["organization_manager"])),
    ...planRoleBindings(ORG_AUDITOR_IN_SPACE, namespace, listSubjects(bindings.org, ["organization_auditor"])),
  ];
}
