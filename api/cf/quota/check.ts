// Refuses what would exceed a quota, before anything is written, in CF's words. controllers/quota decides for all doors; this is the early answer.
import type { App } from "../../../crds/app/app.ts";
import { displayNameOf } from "../../../crds/object-names.ts";
import type { Org } from "../../../crds/org/org.ts";
import type { Process } from "../../../crds/process/process.ts";
import { forbidsPaid, isFull, waitsForQuota } from "../../../crds/org-quota/counts.ts";
import {
  addDemand,
  findExcess,
  limitsProcesses,
  NO_USAGE,
  type AppLimits,
  type Excess,
} from "../../../crds/org-quota/rules.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import type { Route } from "../../../crds/route/route.ts";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import type { Space } from "../../../crds/space/space.ts";
import { unprocessable } from "../../http/errors.ts";
import type { Session } from "../../access/session.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { quotaOf, spaceQuotaOf } from "../org/org-quota.ts";
import { countProcesses, demandOf, listRoutes, listSpaceNamespaces, listTasks } from "./usage.ts";

type Place = "organization" | "space";

/** The org's or the space's quota, which both hold in a space. */
interface PlaceQuota<Limits> {
  place: Place;
  name: string;
  limits: Limits | undefined;
  /** The namespaces whose contents count. */
  namespaces: () => string[];
}

type Limits = NonNullable<ReturnType<typeof quotaOf> | ReturnType<typeof spaceQuotaOf>>["spec"];

/** The space's quota first, as CF reports them. None for a namespace that is no space's. */
function quotasIn(cache: ClusterCache, namespace: string): PlaceQuota<Limits>[] {
  const space = cache.spaceOf(namespace);
  const org = space && cache.orgOf(space.metadata.namespace);
  if (!space || !org) return [];
  return [spacePlace(cache, space, namespace), orgPlace(cache, org)];
}

function spacePlace(cache: ClusterCache, space: Space, namespace: string): PlaceQuota<Limits> {
  return {
    place: "space",
    name: displayNameOf(space),
    limits: spaceQuotaOf(cache, space)?.spec,
    namespaces: () => [namespace],
  };
}

function orgPlace(cache: ClusterCache, org: Org): PlaceQuota<Limits> {
  return {
    place: "organization",
    name: displayNameOf(org),
    limits: quotaOf(cache, org)?.spec,
    namespaces: () => listSpaceNamespaces(cache, org.status?.namespace ?? ""),
  };
}

const PROCESS_TEXTS: Record<Place, Record<Excess, (name: string) => string>> = {
  space: {
    memory: () => "memory space_quota_exceeded",
    instanceMemory: () => "memory space_instance_memory_limit_exceeded",
    instances: () => "app_instance_limit space_app_instance_limit_exceeded",
    logRate: () => "log_rate_limit exceeds space log rate quota",
    unlimitedLogRate: (name) => `log_rate_limit cannot be unlimited in space '${name}'.`,
  },
  organization: {
    memory: () => "memory quota_exceeded",
    instanceMemory: () => "memory instance_memory_limit_exceeded",
    instances: () => "app_instance_limit app_instance_limit_exceeded",
    logRate: () => "log_rate_limit exceeds organization log rate quota",
    unlimitedLogRate: (name) => `log_rate_limit cannot be unlimited in organization '${name}'.`,
  },
};

/** CF's order over both quotas: memory, memory of one instance, instances, log rate. */
const ORDER: readonly Excess[] = ["memory", "instanceMemory", "instances", "unlimitedLogRate", "logRate"];

/**
 * The processes as they will be, of an app that is or becomes started; other processes of the app count as they are.
 * @throws CFError 422 in CF's words, as `memory quota_exceeded`
 */
export function requireProcessQuota({ cache }: Pick<Session, "cache">, wanted: readonly Process[]): void {
  const namespace = wanted[0]?.metadata.namespace ?? "";
  const quotas = quotasIn(cache, namespace);
  if (!limitsProcesses(...quotas.map(({ limits }) => limits))) return;
  const own = new Set(wanted.map(({ metadata }) => metadata.name));
  const isOwn = (process: Process): boolean =>
    process.metadata.namespace === namespace && own.has(process.metadata.name);
  const found = quotas.flatMap(({ place, name, limits, namespaces }) =>
    limits && limitsProcesses(limits)
      ? listExcess(limits, countProcesses(cache, namespaces(), isOwn), wanted).map((excess) => ({
          place,
          name,
          excess,
        }))
      : [],
  );
  const sorted = found.toSorted((one, other) => ORDER.indexOf(one.excess) - ORDER.indexOf(other.excess));
  const texts = sorted.map(({ place, name, excess }) => PROCESS_TEXTS[place][excess](name));
  if (texts.length > 0) throw unprocessable([...new Set(texts)].join(", "));
}

function listExcess(limits: AppLimits, used: ReturnType<typeof countProcesses>, wanted: readonly Process[]): Excess[] {
  const found = new Set<Excess>();
  let sum = used;
  for (const process of wanted) {
    for (const excess of findExcess(limits, sum, demandOf(process))) found.add(excess);
    sum = addDemand(sum, demandOf(process));
  }
  return [...found];
}

/** A process of a started app as a write would leave it. Less of everything is always allowed. @throws CFError 422 */
export function requireChangeQuota(
  session: Pick<Session, "cache">,
  { app, before, after }: { app: App | undefined; before: Process; after: Process },
): void {
  if (app?.spec.state !== "Started") return;
  const [from, to] = [demandOf(before), demandOf(after)];
  const grows =
    to.instances > from.instances ||
    to.memoryMB > from.memoryMB ||
    (to.logRateLimitBytesPerSecond !== from.logRateLimitBytesPerSecond &&
      (to.logRateLimitBytesPerSecond < 0 || to.logRateLimitBytesPerSecond > from.logRateLimitBytesPerSecond));
  if (grows) requireProcessQuota(session, [after]);
}

/** Adds a route to the use. A route that is `moved` from another space counts once. @throws CFError 422 */
export function requireRouteQuota(
  { cache }: Pick<Session, "cache">,
  namespace: string,
  port: number,
  moved?: Route,
): void {
  for (const { place, name, limits, namespaces } of quotasIn(cache, namespace)) {
    if (limits?.totalRoutes === undefined && limits?.totalReservedPorts === undefined) continue;
    const routes = listRoutes(cache, namespaces()).filter(({ metadata }) => metadata.uid !== moved?.metadata.uid);
    const ports = routes.filter((route) => route.spec.port !== 0);
    if (isFull(limits.totalRoutes, routes.length)) throw unprocessable(`Routes quota exceeded for ${place} '${name}'.`);
    if (port !== 0 && isFull(limits.totalReservedPorts, ports.length))
      throw unprocessable(`Reserved route ports quota exceeded for ${place} '${name}'.`);
  }
}

/** Adds a private domain to the use. @throws CFError 422 */
export function requireDomainQuota({ cache }: Pick<Session, "cache">, org: Org): void {
  const domains = cache.store(Domain).list({ namespace: org.status?.namespace ?? "" });
  if (!isFull(quotaOf(cache, org)?.spec.totalDomains, domains.filter((one) => !waitsForQuota(one)).length)) return;
  throw unprocessable(`The number of private domains exceeds the quota for organization "${displayNameOf(org)}"`);
}

const TASK_TEXTS: Record<Place, Partial<Record<Excess, (name: string) => string>>> = {
  space: {
    memory: () => "memory_in_mb exceeds space memory quota",
    instanceMemory: () => "memory_in_mb exceeds space instance memory quota",
    logRate: () => "log_rate_limit exceeds space log rate quota",
    unlimitedLogRate: (name) => `log_rate_limit cannot be unlimited in space '${name}'.`,
  },
  organization: {
    memory: () => "memory_in_mb exceeds organization memory quota",
    instanceMemory: () => "memory_in_mb exceeds organization instance memory quota",
    logRate: () => "log_rate_limit exceeds organization log rate quota",
    unlimitedLogRate: (name) => `log_rate_limit cannot be unlimited in organization '${name}'.`,
  },
};

/** Adds a task of this size to the use. @throws CFError 422 in CF's words */
export function requireTaskQuota(
  { cache }: Pick<Session, "cache">,
  namespace: string,
  size: Omit<ReturnType<typeof demandOf>, "instances">,
): void {
  const texts = quotasIn(cache, namespace)
    .toReversed()
    .flatMap((quota) => listTaskProblems(cache, quota, size));
  if (texts.length > 0) throw unprocessable([...new Set(texts)].join(", "));
}

function listTaskProblems(
  cache: ClusterCache,
  { place, name, limits, namespaces }: PlaceQuota<Limits>,
  size: Omit<ReturnType<typeof demandOf>, "instances">,
): string[] {
  if (!limits) return [];
  const used = limitsProcesses(limits) ? countProcesses(cache, namespaces()) : NO_USAGE;
  const isTasksFull =
    limits.totalAppTasks !== undefined && isFull(limits.totalAppTasks, listTasks(cache, namespaces()).length);
  return [
    ...findExcess(limits, used, { ...size, instances: 1 }).flatMap((excess) => TASK_TEXTS[place][excess]?.(name) ?? []),
    ...(isTasksFull ? ["app_task_limit quota exceeded"] : []),
  ];
}

const SERVICE_TEXTS: Record<Place, { full: string; paid: string; keys: string }> = {
  space: {
    full: "You have exceeded your space's services limit.",
    paid: "The service instance cannot be created because paid service plans are not allowed for your space.",
    keys: "You have exceeded your space's limit for service keys.",
  },
  organization: {
    full: "You have exceeded your organization's services limit.",
    paid: "The service instance cannot be created because paid service plans are not allowed.",
    keys: "You have exceeded your organization's limit for service keys.",
  },
};

/** Adds a managed instance to the use. User-provided instances do not count, as in CF. @throws CFError 422 */
export function requireServiceQuota({ cache }: Pick<Session, "cache">, namespace: string): void {
  for (const { place, limits, namespaces } of quotasIn(cache, namespace)) {
    const most = limits?.totalServiceInstances;
    const count = (): number =>
      namespaces()
        .flatMap((each) => cache.store(ServiceInstance).list({ namespace: each }))
        .filter((one) => one.spec.type === "managed" && !waitsForQuota(one)).length;
    if (most !== undefined && isFull(most, count())) throw unprocessable(SERVICE_TEXTS[place].full);
  }
}

/** @throws CFError 422 for a paid plan where none is allowed */
export function requirePaidQuota({ cache }: Pick<Session, "cache">, namespace: string): void {
  const refusing = quotasIn(cache, namespace).find(({ limits }) => forbidsPaid(limits));
  if (refusing) throw unprocessable(SERVICE_TEXTS[refusing.place].paid);
}

/** Adds a service key to the use. @throws CFError 422 */
export function requireKeyQuota({ cache }: Pick<Session, "cache">, namespace: string): void {
  for (const { place, limits, namespaces } of quotasIn(cache, namespace)) {
    const most = limits?.totalServiceKeys;
    const count = (): number =>
      namespaces()
        .flatMap((each) => cache.store(ServiceBinding).list({ namespace: each }))
        .filter((one) => one.spec.type === "key" && !waitsForQuota(one)).length;
    if (most !== undefined && isFull(most, count())) throw unprocessable(SERVICE_TEXTS[place].keys);
  }
}
