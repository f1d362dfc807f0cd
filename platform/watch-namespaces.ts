// The namespaces in which the platform watches a kind that it may not watch in all namespaces: those of orgs and spaces, and its own.
import type { NamespaceScope } from "../kube/cache/scoped/watched-namespaces.ts";
import { resourceId } from "../kube/api/resource-ref.ts";
import { App } from "../crds/app/app.ts";
import { Build } from "../crds/build/build.ts";
import { Buildpack } from "../crds/buildpack/buildpack.ts";
import { Claim } from "../crds/claim/claim.ts";
import { Domain } from "../crds/domain/domain.ts";
import { Droplet } from "../crds/droplet/droplet.ts";
import { SYSTEM_NAMESPACE } from "../crds/groups.ts";
import { LABELS } from "../crds/labels.ts";
import { LRP } from "../crds/lrp/lrp.ts";
import { Package } from "../crds/package/package.ts";
import { Process } from "../crds/process/process.ts";
import { Revision } from "../crds/revision/revision.ts";
import { Rollout } from "../crds/rollout/rollout.ts";
import { RouteBinding } from "../crds/route-binding/route-binding.ts";
import { Route } from "../crds/route/route.ts";
import { ServiceBroker } from "../crds/service-broker/service-broker.ts";
import { ServiceOffering } from "../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../crds/service-plan/service-plan.ts";
import { ServiceBinding } from "../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../crds/service-instance/service-instance.ts";
import { Space } from "../crds/space/space.ts";
import { Stack } from "../crds/stack/stack.ts";
import { Staging } from "../crds/staging/staging.ts";
import { Task } from "../crds/task/task.ts";
import { TaskRun } from "../crds/task-run/task-run.ts";
import { HTTPRoute } from "../backends/routers/gateway/http-route.ts";
import { ReferenceGrant } from "../backends/routers/gateway/reference-grants.ts";
import {
  Deployment,
  Ingress,
  Job,
  NetworkPolicy,
  PodDisruptionBudget,
  Service,
  StatefulSet,
} from "../kube/api/builtin.ts";

type NamespaceKind = "org" | "space" | "system";

const SPACE_SCOPED = [
  App,
  Process,
  Package,
  Build,
  Droplet,
  Revision,
  Rollout,
  Route,
  ServiceInstance,
  ServiceBinding,
  Task,
  LRP,
  TaskRun,
  Staging,
  RouteBinding,
  Deployment,
  StatefulSet,
  Job,
  Service,
  PodDisruptionBudget,
  Ingress,
  HTTPRoute,
  ReferenceGrant,
  NetworkPolicy,
];

/** The namespaces that can hold a kind; kinds not listed here can be in any. */
const NAMESPACE_KINDS = new Map<string, readonly NamespaceKind[]>([
  ...SPACE_SCOPED.map((ref): [string, readonly NamespaceKind[]] => [resourceId(ref), ["space"]]),
  [resourceId(Space), ["org"]],
  [resourceId(Domain), ["org", "system"]],
  ...[ServiceBroker, ServiceOffering, ServicePlan].map((ref): [string, readonly NamespaceKind[]] => [
    resourceId(ref),
    ["space", "system"],
  ]),
  ...[Claim, Buildpack, Stack].map((ref): [string, readonly NamespaceKind[]] => [resourceId(ref), ["system"]]),
]);

/** A label marks the namespaces of orgs and spaces, so the platform needs permission to watch Namespaces. */
export const PLATFORM_NAMESPACES: NamespaceScope = {
  labelSelector: LABELS.namespaceKind,
  always: [SYSTEM_NAMESPACE],
  canHold: (ref, labels) => {
    const namespaceKind = labels?.[LABELS.namespaceKind] ?? "system";
    return NAMESPACE_KINDS.get(resourceId(ref))?.includes(namespaceKind as NamespaceKind) ?? true;
  },
};
