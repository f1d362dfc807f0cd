// Keeps a Route's RouteBinding, and its claim on the address.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { routeName } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { processName } from "../../crds/process/defaults.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Route, type Destination } from "../../crds/route/route.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { defineController, watch, type ReconcileContext } from "../../kube/controller/controller.ts";
import { appKey } from "../shared/app-owned.ts";
import { chooseClass } from "../shared/choose-class.ts";
import { findHostHolder, giveWay } from "../shared/host-claims.ts";
import { byGUID, CLAIM_INDEX, GUID_INDEX, holdClaim, settleGUID } from "../shared/identity.ts";
import { domainStanding, findNamedDomain, getPlace, PLACE_READS } from "../shared/tenancy.ts";
import { bindingName, planDomainLost, planDomainMissing, planHost, planRoute, type Target } from "./plan.ts";
import { DOMAIN_INDEX, HOST_INDEX, rivalsOf, wantedAddress, wantedHost, wokenByClaim, wokenByDomain } from "./map-functions.ts";

const DESTINATION_INDEX = "route/destination";
const ALL_INDEX = "route/all";

export const routeController = defineController({
  name: "route",
  for: Route,
  owns: [RouteBinding],
  reads: [...PLACE_READS, Droplet],
  indexes: {
    [GUID_INDEX]: byGUID,
    [CLAIM_INDEX]: (route: Route) => [wantedAddress(route)],
    [DOMAIN_INDEX]: (route: Route) => [route.spec.domainRef.name],
    [HOST_INDEX]: (route: Route) => [wantedHost(route.spec)],
    [DESTINATION_INDEX]: (route: Route) => [...new Set(route.spec.destinations.map((destination) => appKey(route.metadata.namespace, destination.app)))],
    [ALL_INDEX]: () => ["all"],
  },
  watches: [
    watch(Claim, wokenByClaim),
    watch(Claim, rivalsOf),
    watch(Domain, wokenByDomain),
    watch(App, (app) => ({ [DESTINATION_INDEX]: appKey(app.metadata.namespace, app.metadata.name) })),
    watch(Process, (process) => ({ [DESTINATION_INDEX]: appKey(process.metadata.namespace, process.spec.appRef.name) })),
    watch(Revision, (revision) => ({ [DESTINATION_INDEX]: appKey(revision.metadata.namespace, revision.spec.appRef.name) })),
    watch(BackendClass, (backend) => (backend.spec.role === "router" ? { [ALL_INDEX]: "all" } : [])),
  ],

  async reconcile(route, context) {
    const { read } = context;
    const { namespace = "" } = route.metadata;
    const place = getPlace(read, namespace);
    const domain = findNamedDomain(read, route, place);
    const { guid, labels } = settleGUID(Route, route, context);
    if (!domain) return { labels, ...planDomainMissing(route, place) };
    const standing = domainStanding(read, domain);
    if (standing === "lost") return { labels, ...planDomainLost(domain) };
    // A Domain that was just made: the claim on its name wakes us.
    if (standing === "open") return { silent: true };
    const name = routeName(route, domain.spec.name);
    const holder = route.spec.port === 0 ? findHostHolder(read, route.spec.host, domain) : undefined;
    const refusal = planHost(route, domain, holder);
    if (refusal) {
      if (holder) await giveWay(route, name, holder, context);
      return { labels, ...refusal };
    }
    await holdClaim(Route.kind, route, name, context);
    const router = chooseClass(read.list(BackendClass), { role: "router", named: domain.spec.router });
    const binding = read.find(RouteBinding, { namespace, name: bindingName(route) });
    const targets = route.spec.destinations.map((destination) => targetOf(destination, namespace, context));
    return { labels, ...planRoute({ route, guid, domain, place, class: router.metadata.name, targets, binding }) };
  },
});

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
