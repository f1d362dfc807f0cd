// Refuses taken names early and in friendly words. Correctness does not depend on it, because claims decide.
import { findClaimantName } from "../../controllers/shared/claimant-name.ts";
import { TENANCY_KINDS } from "../../controllers/shared/tenancy.ts";
import { EXCEPT_API } from "../../crds/admission-policy.ts";
import { App } from "../../crds/app/app.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, isClaimant, type ClaimedName } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { API_FIELD_MANAGER, GROUP, SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Org } from "../../crds/org/org.ts";
import { Route } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import type { WebhookScope } from "../../kube/admission/webhook-configuration.ts";
import { ALLOWED, type AdmissionRequest, type AdmissionDecision } from "../../kube/admission/admission-review.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";

/** Kinds whose names are claimed, with the scope of uniqueness in a person's words. */
const CLAIMED_KINDS: readonly { ref: ResourceRef; what: string }[] = [
  { ref: Org, what: "Org" },
  { ref: Space, what: "Space of this org" },
  { ref: App, what: "App of this space" },
  { ref: Domain, what: "Domain" },
  { ref: Route, what: "Route" },
];
/** The kinds that it reads. */
export const NAME_WEBHOOK_KINDS: readonly ResourceRef[] = [
  ...new Set([...TENANCY_KINDS, ...CLAIMED_KINDS.map(({ ref }) => ref)]),
];

export const NAME_WEBHOOK_SCOPE: Omit<WebhookScope, "timeoutSeconds"> = {
  rules: [
    {
      apiGroups: [GROUP],
      apiVersions: [...new Set(CLAIMED_KINDS.map(({ ref }) => ref.version))],
      operations: ["CREATE", "UPDATE"],
      resources: CLAIMED_KINDS.map(({ ref }) => ref.plural),
      scope: "*",
    },
  ],
  // The API holds the claim before it writes.
  matchConditions: [EXCEPT_API],
};

/**
 * Refuses a name that another object has and claims. When in doubt it allows: writes of the API, which holds the claim already, and a
 * claim whose object does not exist (yet).
 * @throws NotSynced, NotPermitted
 */
export async function reviewName(
  { kind, operation, object, oldObject, fieldManager }: AdmissionRequest,
  read: Reader,
): Promise<AdmissionDecision> {
  const claimedKind = CLAIMED_KINDS.find(({ ref }) => ref.kind === kind.kind && ref.group === kind.group);
  if (!claimedKind || !object || fieldManager === API_FIELD_MANAGER) return ALLOWED;
  const requestedName = await findNameOfObject(kind.kind, object, read);
  if (
    !requestedName ||
    (operation === "UPDATE" && isSameName(requestedName, await findNameOfObject(kind.kind, oldObject, read)))
  )
    return ALLOWED;
  const claim = read.find(Claim, { namespace: SYSTEM_NAMESPACE, name: claimObjectName(requestedName) });
  if (!claim || isClaimant(claim, kind.kind, object)) return ALLOWED;
  const currentName = await findClaimantName(claim.spec.claimant, {
    find: (ref, key) => Promise.resolve(read.find(ref, key)),
    read,
  });
  if (!isSameName(requestedName, currentName)) return ALLOWED;
  return {
    allowed: false,
    code: 422,
    reason: "Invalid",
    message: `the name is taken by another ${claimedKind.what}: choose another one, or wait until that one is renamed or deleted`,
  };
}

async function findNameOfObject(
  kind: string,
  object: KubeObject | undefined,
  read: Reader,
): Promise<ClaimedName | undefined> {
  if (!object) return undefined;
  const { name, namespace } = object.metadata;
  return findClaimantName(
    { kind, name, ...(namespace && { namespace }) },
    { find: <T extends KubeObject>() => Promise.resolve(object as T), read },
  );
}

function isSameName(a: ClaimedName, b: ClaimedName | undefined): boolean {
  return a.scope === b?.scope && a.claimed === b.claimed;
}
