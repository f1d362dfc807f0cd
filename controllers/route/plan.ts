// Translates a Route to its RouteBinding: the full address, and its processes by GUID and port. Pure.
import type { App } from "../../crds/app/app.ts";
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import type { Claim } from "../../crds/claim/claim.ts";
import type { Domain } from "../../crds/domain/domain.ts";
import type { Droplet } from "../../crds/droplet/droplet.ts";
import { ANNOTATIONS, LABELS } from "../../crds/labels.ts";
import { generatedName } from "../../crds/object-names.ts";
import { effectivePorts } from "../../crds/process/defaults.ts";
import type { Process } from "../../crds/process/process.ts";
import type { Revision } from "../../crds/revision/revision.ts";
import { Route, type Destination, type RouteOptions } from "../../crds/route/route.ts";
import { appNamespaceOf, isAvailableIn } from "../../crds/route/destinations.ts";
import { findAddressProblem, type AddressLimits, type AddressProblem } from "../../crds/route/address-rules.ts";
import { isHostTaken } from "../../crds/route/host-owner.ts";
import { routeHostname, routeURL } from "../../crds/route/route-url.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import type { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ReadyDraft, ReconcileResult } from "../../kube/controller/controller.ts";
import { keyOf } from "../../kube/api/object.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import { listSubjects, planRoleGrant, type RoleBindingObject } from "../shared/role-bindings.ts";
import { tenancyLabels, type Tenancy } from "../shared/tenancy.ts";

/** A destination with its objects; `app` is undefined when it does not exist. */
export interface Target {
  destination: Destination;
  app?: { object: App; guid: string };
  process?: Process;
  revision?: Revision;
  droplet?: Droplet;
}

export interface RouteInput {
  route: Route;
  guid: string;
  domain: Domain;
  tenancy: Tenancy;
  /** The router class. */
  router: BackendClass;
  targets: readonly Target[];
  /** The current binding, with the router's status. */
  binding: RouteBinding | undefined;
  /** Service bindings of the route. */
  bindings: readonly ServiceBinding[];
}

export function routeBindingName(route: Route): string {
  return generatedName(`${route.spec.host || "root"}-${route.spec.domainRef.name}`, route.metadata.uid ?? "");
}

/** A Route that is not served; the condition says why. */
export function planNotServed(reason: string, message: string): ReconcileResult {
  return { children: [], status: { url: undefined }, ready: { status: "False", reason, message, isFailure: true } };
}

/** A Route that is not served, since a quota has no room for it. */
export function planOverQuota(ready: ReadyDraft): ReconcileResult {
  return { children: [], status: { url: undefined }, ready };
}

/**
 * The Route's domain does not exist, so nothing is served: its address may belong to another Route by now. status.url stays, to tell the old domain from
 * another Domain of the same object name that is shared with the org later.
 */
export function planDomainMissing({ spec, status }: Route, { org }: Tenancy): ReconcileResult {
  const message = `domain ${spec.domainRef.name} does not belong to org ${org.name} and is not shared with it`;
  const previousURL =
    status?.url === undefined
      ? ""
      : `, or is not the domain that served this Route (${status.url}); delete the Route and create it again to use another domain`;
  return {
    children: [],
    ready: { status: "False", reason: "DomainMissing", message: `${message}${previousURL}`, isFailure: true },
  };
}

/** The Route's Domain does not hold its own name, which is taken or reserved. */
export function planDomainOutOfForce({ metadata, spec }: Domain, state: "taken" | "reserved"): ReconcileResult {
  return planNotServed(
    state === "taken" ? "DomainNameTaken" : "DomainNameReserved",
    `Domain ${keyOf(metadata)} does not hold the name ${spec.name}: its Ready condition says why; name another domain`,
  );
}

const ADDRESS_PROBLEMS: Record<AddressProblem, (domain: string) => [reason: string, message: string]> = {
  portOfHttp: (domain) => ["PortNotAllowed", `domain ${domain} is for HTTP, and its routes have no port`],
  hostOfTcp: (domain) => [
    "HostNotAllowed",
    `domain ${domain} is for TCP: its routes have a port, and neither host nor path`,
  ],
  portMissing: (domain) => ["PortMissing", `domain ${domain} is for TCP: make this route anew with spec.port`],
  portNotOffered: (domain) => [
    "PortNotOffered",
    `the router of domain ${domain} does not offer this port: see parameters.tcpPorts of its BackendClass`,
  ],
  apiHost: () => ["HostReserved", "this is the address of the Cloud Foundry API; choose another host"],
  hostMissing: (domain) => [
    "HostMissing",
    `domain ${domain} is shared: a route there needs a host; make this one anew with spec.host`,
  ],
  sharedWildcard: (domain) => [
    "WildcardNotAllowed",
    `domain ${domain} is shared: all its free hosts are for routes with spec.sharedWildcard, which needs the right to update routes/wildcard`,
  ],
  internalWildcard: (domain) => ["WildcardNotAllowed", `domain ${domain} is internal, and has no wildcard hosts`],
  internalPath: (domain) => ["PathNotAllowed", `domain ${domain} is internal, and its routes have no path`],
  hostnameTooLong: () => ["HostnameTooLong", "host and domain have more than 253 characters; choose a shorter host"],
};

/** The claims that decide whether a Route may have its hostname. */
export interface HostClaims {
  /** Owns the hostname; without one, the first claim will own it. */
  holder: Claim | undefined;
  /** The claim of a domain that has the hostname as its name, and existed before all routes of that hostname. */
  namesake: Claim | undefined;
}

/**
 * Rejects a Route that breaks CF's rules on addresses: those for one alone, and between several: one space owns a host of a shared domain with all of its
 * paths, and another domain that forms the same hostname does not change that. Returns undefined when the Route conforms.
 */
export function planAddressConflict(
  route: Route,
  domain: Domain,
  { holder, namesake }: HostClaims,
  { apiHosts = [], group }: Partial<Omit<AddressLimits, "mayTakeAll">> = {},
): ReconcileResult | undefined {
  const { port, sharedWildcard = false } = route.spec;
  const { name } = domain.spec;
  const problem = findAddressProblem(route.spec, domain, { mayTakeAll: sharedWildcard, apiHosts, group });
  if (problem) return planNotServed(...ADDRESS_PROBLEMS[problem](name));
  if (port !== 0) return undefined;
  const hostname = routeHostname(route.spec, name);
  if (isHostTaken(holder, domain, route.metadata.namespace))
    return planNotServed(
      "HostTaken",
      `${hostname} belongs to another space, with all of its paths; choose another host, or have its routes there deleted`,
    );
  if (!namesake) return undefined;
  return planNotServed("HostIsDomain", `${hostname} is the name of a domain; choose another host`);
}

export function planRoute(input: RouteInput): ReconcileResult {
  if (hasHostnameChanged(input)) return planHostnameChange();
  const unserved = findPolicyObstacle(input) ?? findServiceObstacle(input);
  if (unserved) return planNotServed(...unserved);
  const missing = planMissing(input);
  return {
    children: [planBinding(input)],
    status: { url: routeURL(input.route.spec, input.domain.spec.name) },
    ready: missing ?? toRouterReady(input.router) ?? toRouterReady(input.binding),
  };
}

/** The oldest binding with an address counts, else the oldest. One that is being deleted counts until it is gone: no request passes the service by meanwhile. */
function findRouteService({ bindings }: Pick<RouteInput, "bindings">): ServiceBinding | undefined {
  const oldestFirst = bindings.toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1));
  return oldestFirst.find(({ status }) => status?.routeServiceURL !== undefined) ?? oldestFirst[0];
}

function ageOf({ metadata }: ServiceBinding): string {
  return `${metadata.creationTimestamp ?? ""} ${metadata.name}`;
}

/** In Cloud Foundry the domain's routes are closed to all but the apps that RoutePolicies name; no router here knows which app calls. */
function findPolicyObstacle({ domain }: RouteInput): [reason: string, message: string] | undefined {
  if (!domain.spec.routePolicies) return undefined;
  const { name } = domain.spec;
  const message = `domain ${name} lets only named apps call, and no router here knows which app calls; use a domain without routePolicies`;
  return ["RoutePoliciesNotSupported", message];
}

/** A route is served through its service or not at all: the service may be what protects the app. */
function findServiceObstacle(input: RouteInput): [reason: string, message: string] | undefined {
  const { router } = input;
  const service = findRouteService(input);
  if (service?.status?.routeServiceURL === undefined) return undefined;
  if (router.status?.capabilities?.["routeServices"] === "true") return undefined;
  const next = `delete ServiceBinding ${service.metadata.name}, or choose another router for the domain`;
  return ["RouteServicesNotSupported", `router ${router.metadata.name} has no route services; ${next}`];
}

/** Destinations that cannot be served: in a space that the route is not shared with, or without an app. */
function planMissing({ route, targets }: RouteInput): ReconcileResult["ready"] {
  const without = targets.filter((target) => !target.app).map(({ destination }) => destination);
  const isShared = (one: Destination): boolean => isAvailableIn(route, appNamespaceOf(route, one));
  const [notShared] = without.filter((one) => !isShared(one));
  if (notShared)
    return planFailure(
      "NotShared",
      `its destination ${notShared.app} is in ${appNamespaceOf(route, notShared)}, which spec.sharedSpaces does not name`,
    );
  const names = [...new Set(without.map((one) => keyOf({ namespace: one.namespace, name: one.app })))];
  if (names.length === 0) return undefined;
  return planFailure("AppMissing", `no app of this namespace is named ${names.join(", ")}`);
}

function planFailure(reason: string, message: string): ReconcileResult["ready"] {
  return { status: "False", reason, message, isFailure: true };
}

/** The Route's domainRef now resolves to another domain. */
function hasHostnameChanged({ route, domain, binding }: RouteInput): boolean {
  return binding !== undefined && binding.spec.hostname !== routeHostname(route.spec, domain.spec.name);
}

/** A binding's address is immutable: the old binding is deleted first, and its deletion enqueues the Route. */
function planHostnameChange(): ReconcileResult {
  return {
    children: [],
    ready: {
      status: "False",
      reason: "Moving",
      message: "domain changed; deleting the old RouteBinding",
    },
  };
}

/** The problem that the router reports, if any: with all routes of its class, or with this one. */
function toRouterReady(reported: BackendClass | RouteBinding | undefined): ReconcileResult["ready"] {
  const rejection = reported?.status?.conditions?.find(
    (condition) => condition.type === "Ready" && condition.status === "False",
  );
  return rejection && { status: "False", reason: rejection.reason, message: rejection.message, isFailure: true };
}

function planBinding(input: RouteInput): Draft {
  const { route, domain, tenancy, guid } = input;
  const { labels, annotations } = tenancyLabels(tenancy);
  return {
    apiVersion: apiVersionOf(RouteBinding),
    kind: RouteBinding.kind,
    metadata: {
      name: routeBindingName(route),
      namespace: route.metadata.namespace,
      labels: { ...labels, [LABELS.route]: guid },
      annotations: {
        [ANNOTATIONS.orgName]: annotations[ANNOTATIONS.orgName] ?? "",
        [ANNOTATIONS.spaceName]: annotations[ANNOTATIONS.spaceName] ?? "",
      },
    },
    spec: {
      class: input.router.metadata.name,
      routeGUID: guid,
      space: tenancy.space,
      org: tenancy.org,
      hostname: routeHostname(route.spec, domain.spec.name),
      path: route.spec.path,
      port: route.spec.port,
      internal: domain.spec.internal,
      destinations: planDestinations(input.targets),
      ...planBalancing(route.spec.options),
      ...planRouteService(input),
    },
  };
}

function planRouteService(input: RouteInput): Pick<RouteBinding["spec"], "routeService"> {
  const url = findRouteService(input)?.status?.routeServiceURL;
  return url === undefined ? {} : { routeService: { url } };
}

function planBalancing({ loadbalancing, hashHeader, hashBalance }: RouteOptions = {}): object {
  return omitUndefined({ loadBalancing: loadbalancing, hashHeader, hashBalance });
}

/** Members of the spaces that the route is shared with may read it. `bindings` are of their namespaces. */
export function planSharedReaders({ metadata }: Route, bindings: readonly RoleBindingObject[]): Draft[] {
  const { name, namespace = "", uid = "" } = metadata;
  return planRoleGrant({
    name: `cupola-route-${name}-read`,
    unique: `read/${uid}`,
    namespace,
    rules: [{ apiGroups: [Route.group], resources: [Route.plural], resourceNames: [name], verbs: ["get"] }],
    subjects: listSubjects(bindings),
  });
}

type BoundDestination = RouteBinding["spec"]["destinations"][number];

/** Destinations with existing apps; those with the same port are merged. */
export function planDestinations(targets: readonly Target[]): BoundDestination[] {
  const found = new Map<string, BoundDestination>();
  for (const target of targets) {
    if (!target.app) continue;
    const { destination } = target;
    const port = destination.port || effectivePort(target);
    const bound: BoundDestination = {
      appGUID: target.app.guid,
      app: destination.app,
      ...(destination.namespace && { namespace: destination.namespace }),
      processType: destination.process,
      port,
      protocol: destination.protocol,
      ...(destination.weight !== undefined && { weight: destination.weight }),
    };
    found.set(`${bound.appGUID} ${bound.processType} ${port}`, bound);
  }
  return [...found.values()];
}

/** The first port of the running process, else of the next one. */
function effectivePort({ destination, process, revision, droplet }: Target): number {
  const running = revision?.spec.processes.find((candidate) => candidate.type === destination.process)?.ports[0];
  return running ?? effectivePorts(process?.spec.ports, droplet?.spec.ports)[0] ?? 0;
}
