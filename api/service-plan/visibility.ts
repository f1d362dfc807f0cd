// Visibility of a service plan: `/v3/service_plans/:guid/visibility`. Plans of a space's own broker are that space's, whoever asks.
import { displayNameOf } from "../../crds/object-names.ts";
import { Org } from "../../crds/org/org.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { visibilityOf } from "../../crds/service-plan/visibility.ts";
import { Space } from "../../crds/space/space.ts";
import type { z } from "zod";
import type { Session } from "../access/session.ts";
import { getPlan } from "../cf/service/marketplace.ts";
import { endpoint, noContent, ok, type Endpoint } from "../routing/endpoint.ts";
import { CFError, notFound, unprocessable } from "../http/errors.ts";
import { visibilityBody } from "./payload.ts";
import { planSpace } from "./present.ts";

const path = "/v3/service_plans/:guid/visibility";
const write = { verb: "patch", on: ServicePlan } as const;
type Wanted = z.output<typeof visibilityBody>;

function present(session: Session, plan: ServicePlan): object {
  const { type, orgs = [] } = visibilityOf(plan);
  const { cache } = session;
  const space = planSpace(cache, plan);
  const shown = orgs.flatMap((name) => cache.store(Org).find({ name }) ?? []).filter((org) => session.canSee(Org, org));
  return {
    type,
    ...(space && { space: { guid: cache.guid(Space, space), name: displayNameOf(space) } }),
    ...(type === "organization" && {
      organizations: shown.map((org) => ({ guid: cache.guid(Org, org), name: displayNameOf(org) })),
    }),
  };
}

const get = endpoint({
  method: "GET",
  path,
  permission: "authenticated",
  summary: "Get the visibility of a service plan",
  handler: ({ session, params }) => ok(present(session, getPlan({ cache: session.cache, session }, params.guid))),
});

/** The plan, if the caller may write it. @throws CFError 403, 404, 422 for a plan of a space's own broker */
function getWritable(session: Session, guid: string): ServicePlan {
  const plan = getPlan({ cache: session.cache, session }, guid);
  const { namespace = "", name } = plan.metadata;
  session.authorize({ ...write, namespace, name });
  if (visibilityOf(plan).type === "space") throw unprocessable("cannot update plans with visibility type 'space'");
  return plan;
}

/** Object names. @throws CFError 422 */
function resolveOrgs(session: Session, wanted: Wanted): string[] {
  return (wanted.organizations ?? []).map(({ guid }) => {
    const org = session.find(Org, guid);
    if (!org) throw unprocessable(`Could not find Organization with guid: ${guid}`);
    return org.metadata.name;
  });
}

const replace = endpoint({
  method: "PATCH",
  path,
  permission: write,
  body: visibilityBody,
  badBodyError: "BadRequest",
  summary: "Replace the visibility of a service plan",
  handler: async ({ session, params, body }) => {
    const plan = getWritable(session, params.guid);
    const orgs = resolveOrgs(session, body);
    const visibility = { type: body.type, orgs: body.type === "organization" ? orgs : null };
    return ok(
      present(session, await session.patch(ServicePlan, plan, { type: "merge", body: { spec: { visibility } } })),
    );
  },
});

const add = endpoint({
  method: "POST",
  path,
  permission: write,
  body: visibilityBody,
  badBodyError: "BadRequest",
  summary: "Set the visibility of a service plan, and add organizations to it",
  handler: async ({ session, params, body }) => {
    const plan = getWritable(session, params.guid);
    const orgs = resolveOrgs(session, body);
    await session.patchWithRetry(ServicePlan, plan, (current) => {
      const { orgs: before = [] } = visibilityOf(current);
      const after = [...new Set([...before, ...orgs])];
      return { spec: { visibility: { type: body.type, orgs: body.type === "organization" ? after : null } } };
    });
    return ok({ type: body.type });
  },
});

const removeOrg = endpoint({
  method: "DELETE",
  path: `${path}/:org_guid`,
  permission: write,
  summary: "Take an organization away from the visibility of a service plan",
  handler: async ({ session, params }) => {
    const plan = getWritable(session, params.guid);
    const org = session.find(Org, params.org_guid);
    if (!org) throw notFound("Organization");
    const { name } = org.metadata;
    if (visibilityOf(plan).type !== "organization")
      throw unprocessable("only plans with visibility type 'organization' can have organization visibilities removed");
    await session.patchWithRetry(ServicePlan, plan, (current) => {
      const { type, orgs = [] } = visibilityOf(current);
      if (!orgs.includes(name)) throw new CFError("ResourceNotFound", "Service Plan Visibility");
      return { spec: { visibility: { type, orgs: orgs.filter((one) => one !== name) } } };
    });
    return noContent();
  },
});

export const visibilityEndpoints: readonly Endpoint[] = [get, replace, add, removeOrg];
