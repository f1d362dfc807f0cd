// The kinds that an export has, in the order in which an import makes them, and the kinds that it leaves out, with the reason.
import { Adjustment } from "./adjustment/adjustment.ts";
import { App } from "./app/app.ts";
import { AppPolicy } from "./app-policy/app-policy.ts";
import { AuditLog } from "./audit-log/audit-log.ts";
import { Build } from "./build/build.ts";
import { Buildpack } from "./buildpack/buildpack.ts";
import { Domain } from "./domain/domain.ts";
import { Droplet } from "./droplet/droplet.ts";
import { EnvironmentGroup } from "./environment-group/environment-group.ts";
import { FeatureFlag } from "./feature-flag/feature-flag.ts";
import { IsolationSegment } from "./isolation-segment/isolation-segment.ts";
import { Org } from "./org/org.ts";
import { OrgQuota } from "./org-quota/org-quota.ts";
import { Package } from "./package/package.ts";
import { Process } from "./process/process.ts";
import { Revision } from "./revision/revision.ts";
import { Rollout } from "./rollout/rollout.ts";
import { Route } from "./route/route.ts";
import { RoutePolicy } from "./route-policy/route-policy.ts";
import { SecurityGroup } from "./security-group/security-group.ts";
import { ServiceBinding } from "./service-binding/service-binding.ts";
import { ServiceBroker } from "./service-broker/service-broker.ts";
import { ServiceInstance } from "./service-instance/service-instance.ts";
import { ServiceOffering } from "./service-offering/service-offering.ts";
import { ServicePlan } from "./service-plan/service-plan.ts";
import { Space } from "./space/space.ts";
import { SpaceQuota } from "./space-quota/space-quota.ts";
import { Stack } from "./stack/stack.ts";
import { Task } from "./task/task.ts";
import { User } from "./user/user.ts";
import { RoleBinding, Secret } from "../kube/api/builtin.ts";
import type { ResourceRef } from "../kube/api/resource-ref.ts";

const SYSTEM_KINDS: readonly ResourceRef[] = [
  IsolationSegment,
  OrgQuota,
  SecurityGroup,
  EnvironmentGroup,
  FeatureFlag,
  Stack,
  Buildpack,
  User,
];

/** Objects come after those that they need: a namespace before its contents, an owner before its Secrets. */
export const EXPORTED_KINDS: readonly ResourceRef[] = [
  ...SYSTEM_KINDS,
  Org,
  SpaceQuota,
  Domain,
  Space,
  ServiceBroker,
  ServiceOffering,
  ServicePlan,
  ServiceInstance,
  App,
  Package,
  Build,
  Droplet,
  Process,
  Adjustment,
  Revision,
  Rollout,
  Task,
  Route,
  ServiceBinding,
  AppPolicy,
  RoutePolicy,
  RoleBinding,
  Secret,
];

/** Kinds that an export has with `--history` alone. Usage begins anew on the other platform. */
export const HISTORY_KINDS: readonly ResourceRef[] = [AuditLog];

const BY_KIND: ReadonlyMap<string, ResourceRef> = new Map(
  [...EXPORTED_KINDS, ...HISTORY_KINDS].map((ref) => [ref.kind, ref]),
);

export function findExportedKind(kind: string): ResourceRef | undefined {
  return BY_KIND.get(kind);
}

/** Kinds whose objects may be in the system namespace, besides Secrets. */
export const IN_SYSTEM_NAMESPACE: ReadonlySet<string> = new Set(
  [...SYSTEM_KINDS, Domain, ServiceBroker, ServiceOffering, ServicePlan, AuditLog].map(({ kind }) => kind),
);

/** Kinds of which an installation has objects of its own, which take over what the export says of them. */
export const IN_EACH_INSTALLATION: ReadonlySet<string> = new Set([...SYSTEM_KINDS, Domain].map(({ kind }) => kind));

/** Kinds that make the namespaces of others, so controllers reconcile them at once. */
export const NAMESPACE_OWNERS: ReadonlySet<string> = new Set([Org, Space].map(({ kind }) => kind));

/** Kinds that Cupola does not define. They have neither status nor controllers of ours. */
export const KUBERNETES_KINDS: ReadonlySet<string> = new Set([RoleBinding, Secret].map(({ kind }) => kind));

const MADE_AGAIN = "controllers make it again of what is exported";
const OF_INSTALLATION = "it belongs to the installation: the chart and its operator make it";
const HISTORY = "history: it says what happened there";
const USAGE = "usage begins anew: it says what that platform ran";

/** Reasons by kind. */
export const LEFT_OUT_KINDS: Readonly<Record<string, string>> = {
  Claim: MADE_AGAIN,
  LRP: MADE_AGAIN,
  TaskRun: "unfinished work",
  Staging: "unfinished work",
  RouteBinding: MADE_AGAIN,
  PlacementDecision: MADE_AGAIN,
  Work: MADE_AGAIN,
  Replica: "it is a process of that platform",
  SSHCode: "a code for one login, which ends within minutes",
  BackendClass: OF_INSTALLATION,
  Cluster: OF_INSTALLATION,
  ClusterBundle: OF_INSTALLATION,
  PolicyTemplate: "operator policy: apply its files before the import",
  AuditLog: HISTORY,
  UsageLog: USAGE,
  ServiceUsageLog: USAGE,
};

/** Without the kinds that the export has by `--history`. */
export function listLeftOutKinds(hasHistory: boolean): Record<string, string> {
  const history = new Set(hasHistory ? HISTORY_KINDS.map(({ kind }) => kind) : []);
  return Object.fromEntries(Object.entries(LEFT_OUT_KINDS).filter(([kind]) => !history.has(kind)));
}
