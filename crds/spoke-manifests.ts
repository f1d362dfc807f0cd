// The kinds and policies of a spoke: a cluster that runs what a hub makes there, and has no orgs, spaces and apps of its own.
import type { KubeObject } from "../kube/api/object.ts";
import type { ResourceRef } from "../kube/api/resource-ref.ts";
import { toPolicyObjects } from "./admission-policy.ts";
import { BackendClass } from "./backend-class/backend-class.ts";
import { exceptBundles, hubPolicies, spokeNamespacePolicy } from "./hub-policies.ts";
import { imagePolicies } from "./image-policies.ts";
import { kindVersionPolicy } from "./kind-version-policy.ts";
import { LRP } from "./lrp/lrp.ts";
import { platformPolicies } from "./platform-policies.ts";
import { platformRolePolicies } from "./platform-role-policies.ts";
import { podPolicies } from "./pod-policies.ts";
import { Replica } from "./replica/replica.ts";
import { RouteBinding } from "./route-binding/route-binding.ts";
import { TaskRun } from "./task-run/task-run.ts";
import { tenancyPolicies } from "./tenancy-policies.ts";

/** The kinds that runners, routers and the processes of a spoke use. */
export const SPOKE_KINDS: readonly ResourceRef[] = [LRP, TaskRun, RouteBinding, BackendClass, Replica];

/** Each policy with its binding. */
export function listSpokePolicies(): KubeObject[] {
  return [
    ...tenancyPolicies(),
    ...imagePolicies(),
    ...podPolicies(),
    ...platformPolicies(spokeNamespacePolicy(), [exceptBundles()]),
    ...platformRolePolicies(),
    ...hubPolicies(),
    kindVersionPolicy(),
  ].flatMap(toPolicyObjects);
}
