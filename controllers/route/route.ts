// Keeps a Route's RouteBinding, and its claim on the address.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, routeName, standingOf } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { processName } from "../../crds/process/rules.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import type { HostRoute } from "../../crds/route/host.ts";
import { Route, type Destination } from "../../crds/route/route.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { defineController, NotReady, watch, type ReconcileContext, type Wake } from "../../kube/controller.ts";
import type { ObjectKey } from "../../kube/object.ts";
import type { Reader } from "../../kube/reader.ts";
import { appKey } from "../app-part.ts";
import { chooseClass } from "../backend-class.ts";
import { byGUID, CLAIM_INDEX, GUID_INDEX, holdClaim, settleGUID } from "../identity.ts";
import { domainStanding, findDomain, findNamedDomain, findPlace, getPlace, PLACE_READS } from "../place.ts";
import { bindingName, planDomainLost, planRoute, planShared, type Target } from "./plan.ts";

const DOMAIN_INDEX = "route/domain";
const DESTINATION_INDEX = "route/destination";
/** By host and name of the domain: what the name means in each place, an index function cannot see. */
const HOST_INDEX = "route/host";
const ALL_INDEX = "route/all";

export const routeController = defineController({
  name: "route",
  for: Route,
  owns: [RouteBinding],
  reads: [...PLACE_READS, Droplet],
  indexes: {
    [GUID_INDEX]: byGUID,
    // A claim's own name holds the domain's, which an index function cannot see: what is claimed inside the domain must do.
    [CLAIM_INDEX]: (route: Route) => [routeName(route, "").claimed],
    [DOMAIN_INDEX]: (route: Route) => [route.spec.domainRef.name],
    [HOST_INDEX]: (route: Route) => [hostKey(route)],
    [DESTINATION_INDEX]: (route: Route) => [...new Set(route.spec.destinations.map((destination) => appKey(route.metadata.namespace, destination.app)))],
    [ALL_INDEX]: () => ["all"],
  },
  watches: [
    watch(Claim, wokenBy),
    watch(Domain, (domain) => ({ [DOMAIN_INDEX]: domain.metadata.name })),
    watch(Route, rivalsOf),
    watch(App, (app) => ({ [DESTINATION_INDEX]: appKey(app.metadata.namespace, app.metadata.name) })),
    watch(Process, (process) => ({ [DESTINATION_INDEX]: appKey(process.metadata.namespace, process.spec.appRef.name) })),
    watch(Revision, (revision) => ({ [DESTINATION_INDEX]: appKey(revision.metadata.namespace, revision.spec.appRef.name) })),
    watch(BackendClass, (backend) => (backend.spec.role === "router" ? { [ALL_INDEX]: "all" } : [])),
  ],

  async reconcile(route, context) {
    const { read } = context;
    const { namespace = "" } = route.metadata;
    const place = getPlace(read, namespace);
    const domain = findNamedDomain(read, route.spec.domainRef.name, place);
    if (!domain) throw new NotReady("DomainMissing", `domain ${route.spec.domainRef.name} is neither of org ${place.org.name} nor shared`);
    const { guid, labels } = settleGUID(Route, route, context);
    const standing = domainStanding(read, domain);
    if (standing === "lost") return { labels, ...planDomainLost(domain) };
    // A Domain that was just made: the claim on its name wakes us.
    if (standing === "open") return { silent: true };
    const refusal = planShared(route, domain, neighboursOf(route, domain, read));
    if (refusal) return { labels, ...refusal };
    await holdClaim(Route.kind, route, routeName(route, domain.spec.name), context);
    const router = chooseClass(read.list(BackendClass), { role: "router", named: domain.spec.router });
    const binding = read.find(RouteBinding, { namespace, name: bindingName(route) });
    const targets = route.spec.destinations.map((destination) => targetOf(destination, namespace, context));
    return { labels, ...planRoute({ route, guid, domain, place, class: router.metadata.name, targets, binding }) };
  },
});

/** A claim on an address wakes those who want it; one on a domain's name, the routes in the domain. */
function wokenBy({ spec: { scope, claimed, claimant } }: Claim): Wake {
  if (scope.startsWith("route/")) return { [CLAIM_INDEX]: claimed };
  return claimant.kind === Domain.kind ? { [DOMAIN_INDEX]: claimant.name } : [];
}

/** Routes of the same host in other spaces: who goes may have had it. Within a space nobody waits for another. */
function rivalsOf(route: Route, read: Reader): ObjectKey[] {
  const others = read.byIndex(Route, HOST_INDEX, hostKey(route)).filter(({ metadata }) => metadata.namespace !== route.metadata.namespace);
  return others.map(({ metadata: { namespace, name } }) => ({ ...(namespace && { namespace }), name }));
}

function hostKey({ spec }: Route): string {
  return `${spec.host} ${spec.domainRef.name}`;
}

/** All other Routes of this host, in whatever space the name of the domain means the same Domain. */
function neighboursOf(route: Route, domain: Domain, read: Reader): HostRoute[] {
  return read
    .byIndex(Route, HOST_INDEX, hostKey(route))
    .filter((other) => other.metadata.uid !== route.metadata.uid && meansDomain(other, domain, read))
    .map((other) => ({ route: other, isLost: standingOf(read.find(Claim, claimKey(other, domain)), Route.kind, other) === "lost" }));
}

function meansDomain({ metadata, spec }: Route, domain: Domain, read: Reader): boolean {
  const place = findPlace(read, metadata.namespace ?? "");
  return place !== undefined && findDomain(read, spec.domainRef.name, place)?.metadata.uid === domain.metadata.uid;
}

function claimKey(route: Route, domain: Domain): ObjectKey {
  return { namespace: SYSTEM_NAMESPACE, name: claimObjectName(routeName(route, domain.spec.name)) };
}

function targetOf(destination: Destination, namespace: string, context: ReconcileContext): Target {
  const { read } = context;
  const app = read.find(App, { namespace, name: destination.app });
  if (!app) return { destination };
  const find = (name: string | undefined): { namespace: string; name: string } => ({ namespace, name: name ?? "" });
  return {
    destination,
    app: { object: app, guid: settleGUID(App, app, context).guid },
    process: read.find(Process, find(processName(destination.app, destination.process))),
    revision: app.status?.revision === undefined ? undefined : read.find(Revision, find(app.status.revision)),
    droplet: app.spec.droplet && read.find(Droplet, find(app.spec.droplet.name)),
  };
}
