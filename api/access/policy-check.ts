// Judges a caller's writes by operator policy before they are sent (docs/policy.md). The API server's admission policies judge the same writes by the same rules.
import { isDeepStrictEqual } from "node:util";
import { isPlatformCaller } from "../../crds/admission-policy.ts";
import { findDefinition } from "../../crds/definitions.ts";
import { GROUP } from "../../crds/groups.ts";
import type { JudgingConstraint } from "../../crds/policy-template/evaluate.ts";
import type { Policies } from "../../crds/policy-template/policies.ts";
import { createRefs, withPlanned, type ListObjects } from "../../crds/policy-template/refs.ts";
import { judgeWrite } from "../../crds/policy-template/write.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import { mergePatch } from "../../kube/api/merge-patch.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { ifReadable, ifSynced } from "../../kube/cache/errors.ts";
import type { Draft, Patch } from "../../kube/client/client.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { CFError } from "../http/errors.ts";
import type { Caller } from "../identity/caller.ts";

/** The most errors of one answer. */
const MOST_REFUSALS = 10;

/** An object that a request is about to write: a new one, or a stored one with a patch. */
export type PlannedWrite = { draft: Draft } | { object: KubeObject; patch: Patch };

/** The policies that hold for one caller. */
export interface PolicyCheck {
  /** Whether any constraint judges objects of the kind. Without one nothing else here costs anything. */
  judges(ref: ResourceRef): boolean;
  /**
   * The sentences that deny the write; empty when it may be made. Those that only warn, and those of rules that cannot be decided now, go to the
   * client. Rules that read other objects see those that are `planned` before it as if they were stored.
   */
  refusals(ref: ResourceRef, write: PlannedWrite, planned?: readonly KubeObject[]): string[];
}

/** For writes that were judged before. */
export const NO_POLICY_CHECK: PolicyCheck = { judges: () => false, refusals: () => [] };

export interface PolicyCheckDeps {
  policies: () => Policies;
  cache: ClusterCache;
  caller: Pick<Caller, "name" | "groups">;
  /** Adds an X-Cf-Warnings entry. */
  warn: (text: string) => void;
}

/** The platform's own identities are never judged. */
export function createPolicyCheck(deps: PolicyCheckDeps): PolicyCheck {
  const isExempt = isPlatformCaller(deps.caller.groups);
  const constraintsOn = (ref: ResourceRef): readonly JudgingConstraint[] =>
    isExempt || ref.group !== GROUP ? [] : (deps.policies().bySubject.get(ref.kind) ?? []);
  return {
    judges: (ref) => constraintsOn(ref).length > 0,
    refusals(ref, write, planned = []) {
      const constraints = constraintsOn(ref);
      return constraints.length > 0 ? judge(deps, constraints, { ref, write, planned }) : [];
    },
  };
}

/** An error for each sentence, at most ten. */
export function refusedByPolicy(refusals: readonly string[]): CFError {
  return new CFError("UnprocessableEntity", [...new Set(refusals)].slice(0, MOST_REFUSALS));
}

function judge(
  { cache, caller, policies, warn }: PolicyCheckDeps,
  constraints: readonly JudgingConstraint[],
  { ref, write, planned }: { ref: ResourceRef; write: PlannedWrite; planned: readonly KubeObject[] },
): string[] {
  const objects = toReviewedObjects(ref, write);
  if (!objects) return [];
  const place = { object: objects.object, namespaceLabels: namespaceLabels(cache, ref, objects.object) };
  const { denied, warned } = judgeWrite(policies(), constraints, {
    operation: objects.oldObject ? "UPDATE" : "CREATE",
    ...objects,
    ...place,
    user: { name: caller.name, groups: caller.groups },
    refs: createRefs(withPlanned(listCached(cache), planned), place),
  });
  for (const sentence of warned) warn(sentence);
  return denied;
}

function listCached(cache: ClusterCache): ListObjects {
  return (ref, filter) => ifReadable(() => cache.store(ref).list(filter));
}

/** Labels of the object's namespace, as the API server's policies see them. */
function namespaceLabels(
  cache: ClusterCache,
  { namespaced }: ResourceRef,
  { metadata: { namespace } }: KubeObject,
): Record<string, string> | undefined {
  if (!namespaced || namespace === undefined) return undefined;
  return ifSynced(() => cache.store(Namespace).find({ name: namespace }))?.metadata.labels ?? {};
}

type ReviewedObjects = { object: KubeObject; oldObject?: KubeObject };

/**
 * The object as the API server would store it. Undefined leaves the verdict to the API server: for a JSON patch, for an object that the schema
 * refuses anyway, and for a patch that changes nothing.
 */
export function toReviewedObjects(ref: ResourceRef, write: PlannedWrite): ReviewedObjects | undefined {
  if ("draft" in write) {
    const object = withDefaults(ref, write.draft);
    return object && { object };
  }
  if (write.patch.type !== "merge") return undefined;
  const oldObject = withDefaults(ref, write.object) ?? write.object;
  const object = withDefaults(ref, mergePatch(write.object, write.patch.body) as Draft);
  return object && !isDeepStrictEqual(object, oldObject) ? { object, oldObject } : undefined;
}

/** Rules read fields that have defaults without asking whether they are there. */
function withDefaults({ group, version, kind }: ResourceRef, draft: Draft): KubeObject | undefined {
  // As it is sent: without members that are undefined.
  const sent = JSON.parse(JSON.stringify(draft)) as Draft;
  const spec = findDefinition(kind)?.spec.safeParse(sent["spec"] ?? {});
  if (!spec?.success) return undefined;
  return { ...sent, apiVersion: `${group}/${version}`, kind, spec: spec.data } as unknown as KubeObject;
}
