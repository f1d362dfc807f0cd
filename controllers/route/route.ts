// Maintains a Route's RouteBinding and its claim on the address.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { routerOf } from "../../crds/backend-class/choose-router.ts";
import { findRouterGroup, type RouterGroup } from "../../crds/backend-class/router-group.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { routeNameIn } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { findNamesake } from "../../crds/domain/reservations.ts";
import { PORT_QUOTA_EXCEEDED, QUOTA_EXCEEDED } from "../../crds/org-quota/counts.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { processName } from "../../crds/process/defaults.ts";
import { LABELS } from "../../crds/labels.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { appNamespaceOf, isAvailableIn } from "../../crds/route/destinations.ts";
import { foldHost } from "../../crds/route/route-url.ts";
import { Route, type Destination } from "../../crds/route/route.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { Role, RoleBinding } from "../../kube/api/builtin.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import {
  defineController,
  watch,
  type Controller,
  type ControllerDefinition,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import { appKey } from "../shared/app-owned.ts";
import { chooseClass } from "../shared/choose-class.ts";
import { ROUTE_INDEX, routeKey } from "../shared/binding-index.ts";
import { findHostClaim, releaseContestedClaim } from "../shared/host-claims.ts";
import { defineGUIDLabelController } from "../shared/guid-controller.ts";
import { correctedGUIDLabel, indexByGUID, GUID_INDEX, resolveGUID } from "../shared/guid.ts";
import { DESTINATION_INDEX, FOREIGN_APP_INDEX, indexByDestination, indexByForeignApp } from "../shared/route-urls.ts";
import { CLAIMED_NAME_INDEX, ensureClaim } from "../shared/claims.ts";
import { findFullQuota, quotaWatches, WAITING_INDEXES, type CountedKind } from "../shared/counted-quotas.ts";
import { findDomainState, findReferencedDomain, reservationLookup, ROUTE_DOMAIN_INDEX } from "../shared/domains.ts";
import { getTenancy, TENANCY_KINDS } from "../shared/tenancy.ts";
import {
  routeBindingName,
  planAddressConflict,
  planDomainMissing,
  planDomainOutOfForce,
  planOverQuota,
  planRoute,
  planSharedReaders,
  type HostClaims,
  type Target,
} from "./plan.ts";
import {
  HOST_INDEX,
  mapHostClaimToRoutes,
  toAddressIndexKey,
  toHostIndexKey,
  mapClaimToRoutes,
  mapDomainToRoutes,
} from "./map-functions.ts";

/** Routes by the namespaces of the spaces that they are shared with. */
const SHARED_INDEX = "controllers/shared-space";
const ALL_ROUTES_INDEX = "controllers/all-routes";

export const routeGUIDController = defineGUIDLabelController("route-guid", Route);

const SETTINGS = {
  name: "route",
  for: Route,
  owns: [RouteBinding, Role, RoleBinding],
  reads: [...TENANCY_KINDS, Droplet],
  indexes: {
    ...WAITING_INDEXES,
    [GUID_INDEX]: indexByGUID,
    [CLAIMED_NAME_INDEX]: (route: Route) => [toAddressIndexKey(route)],
    [ROUTE_DOMAIN_INDEX]: (route: Route) => [route.spec.domainRef.name],
    [HOST_INDEX]: (route: Route) => [toHostIndexKey(route.spec)],
    [DESTINATION_INDEX]: indexByDestination,
    [FOREIGN_APP_INDEX]: indexByForeignApp,
    [SHARED_INDEX]: (route: Route) => route.spec.sharedSpaces ?? [],
    [ALL_ROUTES_INDEX]: () => ["all"],
  },
  watches: [
    watch(Claim, mapClaimToRoutes),
    watch(Claim, mapHostClaimToRoutes),
    watch(Domain, mapDomainToRoutes),
    watch(App, (app) => ({ [DESTINATION_INDEX]: appKey(app.metadata.namespace, app.metadata.name) })),
    watch(Process, (process) => ({
      [DESTINATION_INDEX]: appKey(process.metadata.namespace, process.spec.appRef.name),
    })),
    watch(Revision, (revision) => ({
      [DESTINATION_INDEX]: appKey(revision.metadata.namespace, revision.spec.appRef.name),
    })),
    watch(RoleBinding, ({ metadata }) =>
      metadata.labels?.[LABELS.managedBy] === undefined ? { [SHARED_INDEX]: metadata.namespace ?? "" } : [],
    ),
    watch(ServiceBinding, ({ metadata, spec }) =>
      spec.routeRef ? [{ namespace: metadata.namespace ?? "", name: spec.routeRef.name }] : [],
    ),
    ...quotaWatches(Route),
    watch(BackendClass, (backend) => (backend.spec.role === "router" ? { [ALL_ROUTES_INDEX]: "all" } : [])),
  ],
} satisfies Omit<ControllerDefinition<Route>, "reconcile">;

/** No route gets a host of the CF API. */
export function routeController({
  apiURL,
  otherAPIHosts = [],
}: {
  apiURL: string;
  otherAPIHosts?: readonly string[];
}): Controller {
  const apiHosts = [URL.parse(apiURL)?.hostname ?? [], otherAPIHosts].flat();
  return defineController<Route>({
    ...SETTINGS,
    reconcile: (route, context) => reconcileRoute(route, context, apiHosts),
  });
}

async function reconcileRoute(
  route: Route,
  context: ReconcileContext,
  apiHosts: readonly string[],
): Promise<ReconcileResult> {
  const { read } = context;
  const { namespace = "" } = route.metadata;
  const tenancy = getTenancy(read, namespace);
  const domain = findReferencedDomain(read, route, tenancy);
  const resolved = resolveGUID(Route, route, context);
  const labels = correctedGUIDLabel(route, resolved.labels);
  if (!domain) return { labels, ...planDomainMissing(route, tenancy) };
  const obstacle = await ensureAddress(route, domain, context, apiHosts);
  if (obstacle) return obstacle.keepStatus ? obstacle : { labels, ...obstacle };
  const classes = read.list(BackendClass);
  const router = chooseClass(classes, { role: "router", className: routerOf(domain, classes) });
  const binding = read.find(RouteBinding, { namespace, name: routeBindingName(route) });
  const targets = route.spec.destinations.map((destination) => toTarget(route, destination, context));
  const bindings = read.byIndex(ServiceBinding, ROUTE_INDEX, routeKey(namespace, route.metadata.name));
  const members = (route.spec.sharedSpaces ?? []).flatMap((shared) => read.list(RoleBinding, { namespace: shared }));
  const plan = planRoute({ route, guid: resolved.guid, domain, tenancy, router, targets, binding, bindings });
  return { labels, ...plan, children: [...(plan.children ?? []), ...planSharedReaders(route, members)] };
}

/** Holds the Route's address. Returns what to do instead when it cannot have it. */
async function ensureAddress(
  route: Route,
  domain: Domain,
  context: ReconcileContext,
  apiHosts: readonly string[],
): Promise<ReconcileResult | undefined> {
  const { read } = context;
  const state = findDomainState(read, domain);
  if (state === "taken" || state === "reserved") return planDomainOutOfForce(domain, state);
  // The Domain is new: the claim on its name will enqueue this Route.
  if (state === "unclaimed") return { keepStatus: true };
  const name = routeNameIn(route, domain);
  const claims = route.spec.port === 0 ? findHostClaims(read, route.spec.host, domain) : NO_CLAIMS;
  const rejection = planAddressConflict(route, domain, claims, { apiHosts, group: findGroup(read, domain) });
  if (!rejection) {
    const full = COUNTED_ROUTES.map((kind) => findFullQuota(route, kind, read)).find((found) => found !== undefined);
    if (full) return planOverQuota(full);
    await ensureClaim(Route.kind, route, name, context);
    return undefined;
  }
  await releaseContestedClaim({ ref: Route, object: route, name }, claims.namesake ?? claims.holder, context);
  return rejection;
}

const isServed = ({ status }: Route): boolean => status?.url !== undefined;
const COUNTED_ROUTES: readonly CountedKind<Route>[] = [
  { ref: Route, limit: "totalRoutes", noun: "routes", reason: QUOTA_EXCEEDED, counts: () => true, isInForce: isServed },
  {
    ref: Route,
    limit: "totalReservedPorts",
    noun: "routes with a port",
    reason: PORT_QUOTA_EXCEEDED,
    counts: ({ spec }) => spec.port !== 0,
    isInForce: isServed,
  },
];

function findGroup(read: Reader, { spec }: Domain): RouterGroup | undefined {
  const router = spec.router === undefined ? undefined : read.find(BackendClass, { name: spec.router });
  return router && findRouterGroup(router);
}

const NO_CLAIMS: HostClaims = { holder: undefined, namesake: undefined };

function findHostClaims(read: Reader, given: string, domain: Domain): HostClaims {
  const host = foldHost(given);
  const namesake = findNamesake({ host, domain: domain.spec.name }, reservationLookup(read));
  return { holder: findHostClaim(read, host, domain), namesake };
}

function toTarget(route: Route, destination: Destination, context: ReconcileContext): Target {
  const { read } = context;
  const namespace = appNamespaceOf(route, destination);
  if (!isAvailableIn(route, namespace)) return { destination };
  const app = read.find(App, { namespace, name: destination.app });
  if (!app) return { destination };
  const toKey = (name: string | undefined): { namespace: string; name: string } => ({ namespace, name: name ?? "" });
  return {
    destination,
    app: { object: app, guid: resolveGUID(App, app, context).guid },
    process: read.find(Process, toKey(processName(destination.app, destination.process))),
    revision: app.status?.revision === undefined ? undefined : read.find(Revision, toKey(app.status.revision)),
    droplet: app.spec.droplet && read.find(Droplet, toKey(app.spec.droplet.name)),
  };
}
