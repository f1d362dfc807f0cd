// Endpoints of Domain: `/v3/domains`, and the domains of an org.
import { z } from "zod";
import { Domain, NOT_AN_ADDRESS, NUMERIC_END } from "../../crds/domain/domain.ts";
import { mayBeDefault } from "../../crds/domain/protocols.ts";
import { findReservation } from "../../crds/domain/reservations.ts";
import { isSharedDomain } from "../../crds/domain/resolve-domain.ts";
import { newGUID, creationSortKey } from "../../crds/guid.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LABELS } from "../../crds/labels.ts";
import { objectNameFor } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { Route } from "../../crds/route/route.ts";
import { foldHost, foldPath } from "../../crds/route/route-url.ts";
import type { Draft } from "../../kube/client/client.ts";
import { accepted, created, endpoint, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import { type CFError, notFound, unprocessable } from "../http/errors.ts";
import { newDeletionJob } from "../jobs/jobs.ts";
import { domainOf, owningOrg, isUsableBy, reservationLookup } from "../cache/domains.ts";
import { routerGroupsOf } from "../cf/route/router-groups.ts";
import { requireDomainQuota } from "../cf/quota/check.ts";
import { listObjects, isOneOf } from "../lists/list-objects.ts";
import { metadataForCreate, metadataSchema } from "../http/metadata.ts";
import { patchMetadata } from "../cf/patch-metadata.ts";
import { presentPage } from "../lists/page.ts";
import { metadataOnlySchema, optionalRelationships, toManySchema, toOneSchema } from "../http/shared-schemas.ts";
import { resolveOrg } from "../cf/org/org-and-space-namespaces.ts";
import { csv, listQuery } from "../http/query.ts";
import type { Session } from "../access/session.ts";
import { sharingEndpoints } from "./sharing.ts";
import { presentDomain } from "./present.ts";

const path = "/v3/domains/:guid";
const read = { verb: "get", on: Domain } as const;

const numericEnd = new RegExp(NUMERIC_END);

const domainName = z
  .string()
  .min(3, "is too short (minimum is 3 characters)")
  .max(253, "is too long (maximum is 253 characters)")
  .regex(
    /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+$/i,
    "does not comply with RFC 1035 standards",
  )
  .refine((name) => name.includes("."), 'must contain at least one "."')
  .refine(
    (name) => name.split(".").every(({ length }) => length <= 63),
    "subdomains must each be at most 63 characters",
  )
  .refine((name) => !numericEnd.test(name), NOT_AN_ADDRESS)
  .refine((name) => /^[-.a-z0-9]*$/i.test(name), "must consist of alphanumeric characters and hyphens")
  .transform((name) => name.toLowerCase());

const createDomainBody = z.strictObject({
  name: domainName,
  internal: z.boolean().nullish(),
  router_group: z.strictObject({ guid: z.string() }).nullish(),
  enforce_route_policies: z.boolean().nullish(),
  route_policies_scope: z.enum(["any", "org", "space"], "must be one of 'any', 'org', 'space'").nullish(),
  relationships: optionalRelationships({
    organization: toOneSchema.nullish(),
    shared_organizations: toManySchema.nullish(),
  }),
  metadata: metadataSchema.optional(),
});
const domainListQuery = listQuery({ names: csv.optional(), organization_guids: csv.optional() });
const reservationQuery = z.strictObject({
  host: z.string().optional(),
  path: z.string().optional(),
  port: z
    .string()
    .meta({ query: { type: "integer" } })
    .optional(),
});

interface ListRequest {
  session: Session;
  query: z.output<typeof domainListQuery>;
  base: string;
  url: string;
}

function listReply({ session, query, base, url }: ListRequest, org?: Org): Reply {
  const names = query.names?.map((name) => name.toLowerCase());
  const owner = (domain: Domain): string => {
    const found = owningOrg(session.cache, domain);
    return found ? session.cache.guid(Org, found) : "";
  };
  const domains = listObjects(session, Domain, query, {
    url,
    filter: (domain) =>
      isOneOf(names, domain.spec.name) &&
      isOneOf(query.organization_guids, owner(domain)) &&
      (!org || isUsableBy(domain, org)),
    dependsOn: [Org],
  });
  return ok(presentPage(domains, { base, url, query }, (domain) => presentDomain(session, domain, base)));
}

/** The oldest shared domain, else the org's oldest private one. @throws CFError 404 when there is neither */
function defaultDomain(session: Session, org: Org): Domain {
  const candidates = session.list(Domain).filter((domain) => isUsableBy(domain, org) && mayBeDefault(domain));
  const order = (domain: Domain): string => `${isSharedDomain(domain) ? 0 : 1} ${creationSortKey(domain)}`;
  const [first] = candidates.sort((one, other) => (order(one) < order(other) ? -1 : 1));
  if (!first) throw notFound("Domain");
  return first;
}

type CreateDomain = z.output<typeof createDomainBody>;

/** @throws CFError 422 for fields that exclude each other */
function checkScope({ internal, relationships }: CreateDomain): void {
  if (relationships?.organization && internal)
    throw unprocessable("Cannot associate an internal domain with an organization");
  if (!relationships?.organization && relationships?.shared_organizations)
    throw unprocessable("Relationships cannot contain shared_organizations without an owning organization.");
}

function toDomain(session: Session, body: CreateDomain): Draft {
  checkScope(body);
  const { organization, shared_organizations: shared } = body.relationships ?? {};
  const namespace = organization ? resolveOrg(session, organization.data.guid).namespace : SYSTEM_NAMESPACE;
  checkOverlap(session, body.name, namespace);
  const owner = session.cache.orgOf(namespace);
  if (owner) requireDomainQuota(session, owner);
  const sharedOrgs = (shared?.data ?? []).map(({ guid }) => resolveOrg(session, guid).org.metadata.name);
  const { labels, annotations } = metadataForCreate(body.metadata);
  const routePolicies = toRoutePolicies(body);
  const metadata = {
    name: objectName(session, namespace, body.name),
    namespace,
    labels: { ...labels, [LABELS.guid]: newGUID() },
    annotations,
  };
  const router = body.router_group ? toTCPRouter(session, body, body.router_group.guid) : {};
  return {
    metadata,
    spec: { name: body.name, internal: body.internal ?? false, sharedOrgs, ...router, ...routePolicies },
  };
}

/** @throws CFError 422 without a scope, and for a domain that can have none */
function toRoutePolicies({ enforce_route_policies: enforce, route_policies_scope: scope, ...body }: CreateDomain): {
  routePolicies?: { scope: string };
} {
  if (!enforce) return {};
  if (body.internal)
    throw unprocessable("Internal domains cannot have route policy enforcement. Internal routes bypass GoRouter.");
  if (body.router_group)
    throw unprocessable(
      "Domains with a router group cannot have route policy enforcement. TCP routes do not support mTLS policy enforcement.",
    );
  if (!scope) throw unprocessable("Route policies scope is required when enforce_route_policies is true");
  return { routePolicies: { scope } };
}

/** @throws CFError 422 for a group that is not there, and a domain that can have none */
function toTCPRouter(
  session: Session,
  { internal, relationships }: CreateDomain,
  guid: string,
): Pick<Domain["spec"], "router" | "protocols"> {
  if (relationships?.organization)
    throw unprocessable("Domains scoped to an organization cannot be associated to a router group.");
  if (internal) throw unprocessable("Internal domains cannot be associated to a router group.");
  const group = routerGroupsOf(session).find((one) => one.guid === guid);
  if (!group) throw unprocessable(`Router group with guid '${guid}' not found.`);
  return { router: group.className, protocols: ["tcp"] };
}

const taken = (name: string): CFError => unprocessable(`The domain name "${name}" is already in use`);

/** Rejects a name that is taken, a parent or subdomain of another org's domain, and a name that is already a route's address. @throws CFError 422 */
function checkOverlap({ cache }: Session, name: string, namespace: string): void {
  const lookup = reservationLookup(cache);
  // The same name is taken, whatever lies below it.
  if (lookup.listByName(name).some(lookup.findClaim)) throw taken(name);
  const reservation = findReservation({ metadata: { name: "", namespace }, spec: { name } }, undefined, lookup);
  if (reservation)
    throw unprocessable(
      `The domain name "${name}" cannot be created because "${reservation.name}" is already reserved by ${reservation.by === "route" ? "a route" : "another domain"}`,
    );
}

/** The domain itself is a valid object name, unless it is too long. */
function objectName(session: Session, namespace: string, domain: string): string {
  const isTaken = (name: string): boolean => session.cache.store(Domain).find({ namespace, name }) !== undefined;
  return domain.length <= 63 && !isTaken(domain) ? domain : objectNameFor(domain, "domain", isTaken);
}

export const domainEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/domains",
    permission: "authenticated",
    lists: [Domain, Org],
    query: domainListQuery,
    summary: "List domains",
    handler: (request) => listReply(request),
  }),
  endpoint({
    method: "GET",
    path: "/v3/organizations/:guid/domains",
    permission: { verb: "get", on: Org },
    query: domainListQuery,
    summary: "List the domains of an organization",
    handler: (request) => listReply(request, request.session.get(Org, request.params.guid)),
  }),
  endpoint({
    method: "GET",
    path: "/v3/organizations/:guid/domains/default",
    permission: { verb: "get", on: Org },
    summary: "Get the default domain",
    handler: ({ session, params, base }) =>
      ok(presentDomain(session, defaultDomain(session, session.get(Org, params.guid)), base)),
  }),
  endpoint({
    method: "GET",
    path,
    permission: read,
    summary: "Get a domain",
    handler: ({ session, params, base }) => ok(presentDomain(session, session.get(Domain, params.guid), base)),
  }),
  endpoint({
    method: "POST",
    path: "/v3/domains",
    permission: { verb: "create", on: Domain },
    body: createDomainBody,
    summary: "Create a domain",
    handler: async ({ session, body, base }) => {
      const draft = toDomain(session, body);
      return created(presentDomain(session, await session.create(Domain, draft, () => taken(body.name)), base));
    },
  }),
  endpoint({
    method: "PATCH",
    path,
    permission: { verb: "patch", on: Domain },
    body: metadataOnlySchema,
    summary: "Update a domain's metadata",
    handler: async ({ session, params, body, base }) => {
      const domain = session.get(Domain, params.guid);
      return ok(presentDomain(session, await patchMetadata(session, Domain, domain, body.metadata), base));
    },
  }),
  endpoint({
    method: "DELETE",
    path,
    permission: { verb: "delete", on: Domain },
    asks: [{ verb: "delete", on: Route }],
    summary: "Delete a domain and its routes",
    handler: async ({ session, params }) => {
      const domain = session.get(Domain, params.guid);
      const guid = session.cache.guid(Domain, domain);
      if (domain.spec.sharedOrgs.some((name) => session.cache.store(Org).find({ name })))
        throw unprocessable("This domain is shared with other organizations. Unshare before deleting.");
      for (const route of listRoutesIn(session, domain)) await session.delete(Route, route);
      await session.delete(Domain, domain);
      return accepted(await newDeletionJob(session, Domain, guid));
    },
  }),
  endpoint({
    method: "GET",
    path: `${path}/route_reservations`,
    permission: read,
    query: reservationQuery,
    badQueryError: "UnprocessableEntity",
    summary: "Check whether a route exists",
    handler: ({ session, params, query }) => {
      const domain = session.get(Domain, params.guid);
      const port = Number(query.port ?? 0);
      const matching = listRoutesIn(session, domain, true).some(
        ({ spec }) =>
          foldHost(spec.host) === foldHost(query.host ?? "") &&
          foldPath(spec.path) === foldPath(query.path ?? "") &&
          spec.port === port,
      );
      return ok({ matching_route: matching });
    },
  }),
  ...sharingEndpoints,
];

/** Routes in a domain: those the caller sees, or with `all` every route. */
function listRoutesIn(session: Session, domain: Domain, all = false): Route[] {
  const candidates = all
    ? session.cache.store(Route).byIndex("domain", domain.metadata.name)
    : session.list(Route, { index: ["domain", domain.metadata.name] });
  return candidates.filter((route) => domainOf(session.cache, route)?.metadata.uid === domain.metadata.uid);
}
