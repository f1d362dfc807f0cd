// The API's cache of the cluster: one watched store per kind with its indexes, GUIDs, and the space and org of an object.
import { App } from "../../crds/app/app.ts";
import { AppPolicy } from "../../crds/app-policy/app-policy.ts";
import { AuditLog } from "../../crds/audit-log/audit-log.ts";
import { Build } from "../../crds/build/build.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { DEFINITIONS } from "../../crds/definitions.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { listParentNames } from "../../crds/domain/reservations.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { guidOf, pickGUIDHolder } from "../../crds/guid.ts";
import { sortKeyOfName } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { Package } from "../../crds/package/package.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Rollout } from "../../crds/rollout/rollout.ts";
import { isEnded, rolloutProcessGUID } from "../../crds/rollout/rules.ts";
import { indexClaimByHost } from "../../crds/route/host-owner.ts";
import { appNamespaceOf } from "../../crds/route/destinations.ts";
import { Route } from "../../crds/route/route.ts";
import { RoutePolicy } from "../../crds/route-policy/route-policy.ts";
import { instanceNamespaceOf, ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { providingBrokerKey, wantedPlanKey } from "../../crds/service-plan/plan-use.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { Space } from "../../crds/space/space.ts";
import { Task } from "../../crds/task/task.ts";
import { Namespace, RoleBinding } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { IndexFunction, Store } from "../../kube/cache/reader.ts";
import { ifSynced } from "../../kube/cache/errors.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import {
  type RbacAuthorizer,
  createRbacAuthorizer,
  RBAC_MAX_STALENESS_MS,
  rbacKinds,
  type RbacWatch,
} from "./rbac-authorizer.ts";
import { roleGUIDs } from "../../crds/role-assignments.ts";
import { dropletSidecarGUIDs, userSidecarGUIDs } from "../../crds/sidecar-guids.ts";
import type { ChangeLog } from "./change-log.ts";
import { createTrackedStores, type TrackedStores } from "./tracked-stores.ts";

type Indexes<T> = Record<string, IndexFunction<T>>;
interface CachedKind<T extends KubeObject = KubeObject> {
  ref: ResourceRef<T>;
  indexes: Indexes<T>;
}

function cachedKind<T extends KubeObject>(ref: ResourceRef<T>, indexes: Indexes<T> = {}): CachedKind {
  return { ref, indexes } as unknown as CachedKind;
}

const indexByApp = ({
  metadata,
  spec,
}: {
  metadata: KubeObject["metadata"];
  spec: { appRef?: { name: string } | undefined };
}): string[] => (spec.appRef ? [`${metadata.namespace}/${spec.appRef.name}`] : []);
const indexByStatusNamespace = (object: { status?: { namespace?: string } }): string[] =>
  object.status?.namespace ? [object.status.namespace] : [];

const toList = (key: string | undefined): string[] => (key === undefined ? [] : [key]);

/** Kinds with indexes besides name, namespace, label, uid and GUID. */
const indexedKinds: readonly CachedKind[] = [
  cachedKind(Org, { namespace: indexByStatusNamespace }),
  cachedKind(Space, { namespace: indexByStatusNamespace }),
  cachedKind(App, { sidecar: userSidecarGUIDs, cfName: (app) => [sortKeyOfName(app)] }),
  cachedKind(Process, { app: indexByApp }),
  cachedKind(Package, { app: indexByApp }),
  cachedKind(Build, { app: indexByApp }),
  cachedKind(Droplet, { app: indexByApp, sidecar: dropletSidecarGUIDs }),
  cachedKind(Revision, { app: indexByApp }),
  cachedKind(Rollout, {
    app: indexByApp,
    open: (rollout) => (isEnded(rollout) ? [] : ["true"]),
    process: (rollout) => [rolloutProcessGUID(rollout)],
  }),
  cachedKind(Task, { app: indexByApp }),
  cachedKind(Domain, {
    name: ({ spec }) => [spec.name],
    parent: ({ spec }) => listParentNames(spec.name),
    objectName: ({ metadata }) => [metadata.name],
  }),
  cachedKind(Route, {
    app: (route) => [...new Set(route.spec.destinations.map((one) => `${appNamespaceOf(route, one)}/${one.app}`))],
    sharedWith: (route) => route.spec.sharedSpaces ?? [],
    domain: (route) => [route.spec.domainRef.name],
  }),
  cachedKind(ServiceOffering, {
    broker: ({ metadata, spec }) => [`${metadata.namespace}/${spec.brokerRef.name}`],
  }),
  cachedKind(ServicePlan, {
    offering: ({ metadata, spec }) => [`${metadata.namespace}/${spec.offeringRef.name}`],
  }),
  cachedKind(ServiceInstance, {
    plan: (instance) => toList(wantedPlanKey(instance)),
    broker: (instance) => toList(providingBrokerKey(instance)),
    sharedWith: ({ spec }) => spec.sharedSpaces ?? [],
  }),
  cachedKind(ServiceBinding, {
    app: indexByApp,
    route: ({ metadata, spec }) => (spec.routeRef ? [`${metadata.namespace}/${spec.routeRef.name}`] : []),
    instance: (binding) => [`${instanceNamespaceOf(binding)}/${binding.spec.instanceRef.name}`],
  }),
  cachedKind(AppPolicy, {
    source: ({ spec }) => [`${spec.source.namespace}/${spec.source.app}`],
    destination: ({ metadata, spec }) => [`${metadata.namespace}/${spec.destination.app}`],
  }),
  cachedKind(RoutePolicy, { route: ({ metadata, spec }) => [`${metadata.namespace}/${spec.routeRef.name}`] }),
  cachedKind(AuditLog, { target: ({ spec }) => [...new Set(spec.events.map(({ target }) => target.guid))] }),
  cachedKind(Claim, { host: indexClaimByHost }),
];

/** Every kind that this API reads: all of ours but those whose definition says otherwise, and namespaces. */
const cachedKinds: readonly CachedKind[] = [
  ...DEFINITIONS.filter(({ isReadByAPI }) => isReadByAPI !== false).map(
    (definition) => indexedKinds.find(({ ref }) => ref === definition) ?? cachedKind(definition),
  ),
  cachedKind(Namespace),
];

/** Kinds in a space's namespace whose dependents are in the same namespace. */
const spaceKinds: ReadonlySet<unknown> = new Set(
  DEFINITIONS.filter(
    ({ livesIn, hasLocalDependents }) => hasLocalDependents ?? livesIn?.every((namespace) => namespace === "space"),
  ),
);

/** A web process has its app's GUID. */
const SHARE_GUIDS: ReadonlyMap<unknown, readonly ResourceRef[]> = new Map([[App, [App, Process]]]);

/** The name of a route depends on its domain, which its space and org decide between. */
const GIVE_NAMES: ReadonlyMap<unknown, readonly ResourceRef[]> = new Map<unknown, readonly ResourceRef[]>([
  [Domain, [Route]],
  [Space, [Route]],
  [Org, [Route]],
]);

/** Kinds that have the index `guid`. */
export const KINDS_WITH_GUID: readonly ResourceRef[] = [...cachedKinds.map(({ ref }) => ref), RoleBinding];

/** The kinds that the cache reads, for the generated roles. */
export const CACHED_KINDS: readonly ResourceRef[] = [...cachedKinds.map(({ ref }) => ref), ...Object.values(rbacKinds)];

/** The part of a cache that finds objects by name. */
export interface ObjectFinder {
  store<T extends KubeObject>(ref: ResourceRef<T>): Pick<Store<T>, "find">;
}

/** Reads are synchronous and throw NotSynced or NotPermitted rather than return an empty result for a store that is not synced. */
export interface ClusterCache {
  store<T extends KubeObject>(ref: ResourceRef<T>): Store<T>;
  /** The store of a kind by its id (`plural.group`); undefined for a kind that the API does not read. */
  findStore(id: string): Store | undefined;
  /**
   * Version of the newest observed change of a kind; "" for none. A store's own version may come from a list or a bookmark; every other
   * watch of the kind reaches this one at once.
   */
  latestVersion(ref: ResourceRef): string;
  /** Lists a kind again. Resolves once the store has the result. */
  relist(ref: ResourceRef): Promise<void>;
  readonly authorizer: RbacAuthorizer;
  /** GUID of a cached object: its own, or its uid when an older object has the same GUID. */
  guid(ref: ResourceRef, object: KubeObject): string;
  /** The object with that GUID, without a permission check. */
  findByGUID<T extends KubeObject>(ref: ResourceRef<T>, guid: string): T | undefined;
  /** The space a namespace belongs to. */
  spaceOf(namespace: string | undefined): Space | undefined;
  /** The org a namespace belongs to (an org's own namespace, not a space's). */
  orgOf(namespace: string | undefined): Org | undefined;
  /**
   * Increases with every change of these kinds and of their objects' claims. With `namespaces`, kinds that live in spaces count only there: a write
   * in one space does not change the version of another.
   */
  versionOf(refs: readonly ResourceRef[], namespaces?: readonly string[]): number;
  /** Increases with every change of any kind or of RBAC: while it is equal, all versions are. */
  changeCount(): number;
  /** Increases with every change of RBAC and of how well it is known. */
  rbacVersion(): number;
  /** The latest changes of a kind's objects, and of the claims that show or hide them. */
  changesOf(ref: ResourceRef): ChangeLog;
  /** Whether every store is synced. */
  isSynced(): boolean;
  /** True once every store is synced; false at the deadline (milliseconds). */
  waitUntilSynced(deadlineMs: number): Promise<boolean>;
}

/** Ensures the watches. `informers` use the platform's identity, which may read every kind here, and have the transform `recordLastWrite` (object-times.ts); their owner closes them. */
export function createClusterCache(informers: Informers): ClusterCache {
  const tracked = ensureStores(informers);
  const rbac = ensureRbac(informers);
  for (const [kind, ref] of Object.entries(rbacKinds))
    tracked.add(ref as ResourceRef, rbac[kind as keyof typeof rbacKinds].store);
  const rbacRefs = Object.values(rbacKinds) as unknown as ResourceRef[];
  const store = <T extends KubeObject>(ref: ResourceRef<T>): Store<T> => tracked.get(ref).store as unknown as Store<T>;
  const guid = (ref: ResourceRef, object: KubeObject): string => guidIn(store, ref, object);
  const versionOf: ClusterCache["versionOf"] = (refs, namespaces) =>
    refs.reduce((sum, ref) => sum + tracked.get(ref).changes.version(namespaces), 0);
  return {
    store,
    findStore: (id) => tracked.find(id)?.store,
    latestVersion: (ref) => tracked.get(ref).latestVersion,
    relist: (ref) => informers.relist(ref),
    authorizer: createRbacAuthorizer(rbac),
    guid,
    findByGUID: (ref, text) =>
      store(ref)
        .byIndex("guid", text)
        .find((object) => guid(ref, object) === text),
    spaceOf: (namespace) => oldest(namespace ? store(Space).byIndex("namespace", namespace) : []),
    orgOf: (namespace) => oldest(namespace ? store(Org).byIndex("namespace", namespace) : []),
    versionOf,
    changeCount: () => tracked.changeCount(),
    rbacVersion: () => versionOf(rbacRefs),
    changesOf: (ref) => tracked.get(ref).log,
    isSynced: () => [...tracked.all()].every((one) => one.store.synced),
    async waitUntilSynced(deadlineMs) {
      const synced = await Promise.all([...tracked.all()].map((one) => one.store.waitSynced(deadlineMs)));
      return synced.every(Boolean);
    },
  };
}

function ensureStores(informers: Informers): TrackedStores {
  const tracked = createTrackedStores();
  for (const { ref, indexes } of cachedKinds) {
    const { store } = informers.ensure(ref, {
      indexes: { ...indexes, guid: (object) => [guidOf(object), object.metadata.uid ?? ""] },
    });
    tracked.add(ref, store, {
      byNamespace: spaceKinds.has(ref),
      sharesGUIDs: SHARE_GUIDS.get(ref) ?? [ref],
      names: GIVE_NAMES.get(ref) ?? [],
    });
  }
  return tracked;
}

function ensureRbac(informers: Informers): Record<keyof typeof rbacKinds, RbacWatch> {
  const watches = Object.entries(rbacKinds).map(([kind, ref]) => [
    kind,
    informers.ensure(ref as ResourceRef, {
      indexes: {
        uid: (object) => [object.metadata.uid ?? ""],
        ...(kind === RoleBinding.kind && { guid: roleGUIDs }),
      },
      maxStalenessMs: RBAC_MAX_STALENESS_MS,
    }),
  ]);
  return Object.fromEntries(watches) as unknown as Record<keyof typeof rbacKinds, RbacWatch>;
}

/** A web process has its app's GUID, so apps and processes share a GUID space: the older object keeps a GUID, as within one kind. */
function guidIn(store: ClusterCache["store"], ref: ResourceRef, object: KubeObject): string {
  const own = resolvedGUID(store(ref), object);
  if (ref.kind !== Process.kind || own === object.metadata.uid) return own;
  const apps = store(App);
  const app = ifSynced(() => apps.byIndex("guid", own))?.find((one) => resolvedGUID(apps, one) === own);
  return app && pickGUIDHolder(app, object) === app ? (object.metadata.uid ?? own) : own;
}

function resolvedGUID(store: Store, object: KubeObject): string {
  const own = ownGUID(object);
  if (own === object.metadata.uid) return own;
  const others = store.byIndex("guid", own);
  const guidOwner =
    others.length < 2 ? object : others.filter((one) => guidOf(one) === own).reduce(pickGUIDHolder, object);
  return guidOwner.metadata.uid === object.metadata.uid ? own : (object.metadata.uid ?? own);
}

/** Memoizes guidOf: cached objects are immutable, and every item of every page needs its GUID. */
function ownGUID(object: KubeObject): string {
  let guid = ownGUIDs.get(object);
  if (guid === undefined) ownGUIDs.set(object, (guid = guidOf(object)));
  return guid;
}
const ownGUIDs = new WeakMap<object, string>();

function oldest<T extends KubeObject>(objects: readonly T[]): T | undefined {
  return objects.length < 2 ? objects[0] : objects.reduce((one, other) => pickGUIDHolder(one, other) as T);
}
