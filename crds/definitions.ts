// The one list of our kinds, in the order in which they are created and listed. The platform's other tables of kinds are derived from their definitions.
import { Adjustment } from "./adjustment/adjustment.ts";
import { App } from "./app/app.ts";
import { AppPolicy } from "./app-policy/app-policy.ts";
import { AuditLog } from "./audit-log/audit-log.ts";
import { BackendClass } from "./backend-class/backend-class.ts";
import { Build } from "./build/build.ts";
import { Buildpack } from "./buildpack/buildpack.ts";
import { Cluster } from "./cluster/cluster.ts";
import { ClusterBundle } from "./cluster-bundle/cluster-bundle.ts";
import { Claim } from "./claim/claim.ts";
import { Domain } from "./domain/domain.ts";
import { Droplet } from "./droplet/droplet.ts";
import { EnvironmentGroup } from "./environment-group/environment-group.ts";
import { FeatureFlag } from "./feature-flag/feature-flag.ts";
import { IsolationSegment } from "./isolation-segment/isolation-segment.ts";
import { LRP } from "./lrp/lrp.ts";
import type { ResourceDefinition } from "../kube/api/resource.ts";
import type { KindDefinition } from "./kind.ts";
import { Org } from "./org/org.ts";
import { OrgQuota } from "./org-quota/org-quota.ts";
import { Package } from "./package/package.ts";
import { PlacementDecision } from "./placement-decision/placement-decision.ts";
import { PolicyTemplate } from "./policy-template/policy-template.ts";
import { Process } from "./process/process.ts";
import { Revision } from "./revision/revision.ts";
import { Rollout } from "./rollout/rollout.ts";
import { Route } from "./route/route.ts";
import { RoutePolicy } from "./route-policy/route-policy.ts";
import { Replica } from "./replica/replica.ts";
import { RouteBinding } from "./route-binding/route-binding.ts";
import { SecurityGroup } from "./security-group/security-group.ts";
import { ServiceBroker } from "./service-broker/service-broker.ts";
import { ServiceOffering } from "./service-offering/service-offering.ts";
import { ServicePlan } from "./service-plan/service-plan.ts";
import { ServiceBinding } from "./service-binding/service-binding.ts";
import { ServiceInstance } from "./service-instance/service-instance.ts";
import { Space } from "./space/space.ts";
import { SpaceQuota } from "./space-quota/space-quota.ts";
import { SSHCode } from "./ssh-code/ssh-code.ts";
import { Stack } from "./stack/stack.ts";
import { Staging } from "./staging/staging.ts";
import { Task } from "./task/task.ts";
import { User } from "./user/user.ts";
import { TaskRun } from "./task-run/task-run.ts";
import { ServiceUsageLog } from "./service-usage-log/service-usage-log.ts";
import { UsageLog } from "./usage-log/usage-log.ts";
import { Work } from "./work/work.ts";

const KINDS: readonly ResourceDefinition[] = [
  Org,
  Space,
  App,
  Process,
  Package,
  Build,
  Droplet,
  Revision,
  Rollout,
  Task,
  Domain,
  Route,
  ServiceBroker,
  ServiceOffering,
  ServicePlan,
  ServiceInstance,
  ServiceBinding,
  Buildpack,
  Stack,
  OrgQuota,
  SpaceQuota,
  SecurityGroup,
  IsolationSegment,
  EnvironmentGroup,
  User,
  FeatureFlag,
  AuditLog,
  UsageLog,
  ServiceUsageLog,
  Claim,
  SSHCode,
  Replica,
  LRP,
  TaskRun,
  Work,
  Staging,
  RouteBinding,
  BackendClass,
  PolicyTemplate,
  Cluster,
  ClusterBundle,
  PlacementDecision,
  Adjustment,
  AppPolicy,
  RoutePolicy,
];

export const DEFINITIONS: readonly KindDefinition[] = KINDS;

const BY_KIND: ReadonlyMap<string, KindDefinition> = new Map(DEFINITIONS.map((one) => [one.kind, one]));

/** The definition of one of our kinds; undefined for any other kind. */
export function findDefinition(kind: string): KindDefinition | undefined {
  return BY_KIND.get(kind);
}
