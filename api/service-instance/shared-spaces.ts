// Endpoints of the spaces with which a service instance is shared.
import { displayNameOf } from "../../crds/object-names.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { MAX_SHARED_SPACES, ServiceInstance, withoutSpace } from "../../crds/service-instance/service-instance.ts";
import { Space } from "../../crds/space/space.ts";
import type { Session } from "../access/session.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { appOf } from "../cf/app/owner-app.ts";
import { requireFlag } from "../cf/feature-flags.ts";
import { bindingsOfInstance } from "../cf/service/bindings.ts";
import { planOf } from "../cf/service/catalog.ts";
import { requireNameFree, requireShareable } from "../cf/service/sharing.ts";
import { findTargets, shareWith, type SharedKind } from "../cf/space-sharing.ts";
import { CFError, unprocessable } from "../http/errors.ts";
import { endpoint, noContent, ok, type Endpoint } from "../routing/endpoint.ts";
import { link, toManyRelationship } from "../http/presentation.ts";
import { addToManySchema } from "../http/shared-schemas.ts";
import { sharedSpacesQuery } from "./payload.ts";
import { hasFields, includedSpaceFields } from "./present.ts";

const path = "/v3/service_instances/:guid/relationships/shared_spaces";
const read = { verb: "get", on: ServiceInstance } as const;
const write = { verb: "patch", on: ServiceInstance } as const;
const INSTANCES: SharedKind<ServiceInstance> = {
  ref: ServiceInstance,
  noun: "service instance",
  plural: "Service instances",
  most: MAX_SHARED_SPACES,
};

/** Readers of the instance's own space see them all, as in CF. Others see those that they may read: a space is no news for the spaces of others. */
function listSharedSpaces(session: Session, { spec, metadata }: ServiceInstance): Space[] {
  const { cache } = session;
  const own = cache.spaceOf(metadata.namespace);
  const seesAll = own !== undefined && session.canSee(Space, own);
  return (spec.sharedSpaces ?? [])
    .flatMap((namespace) => cache.spaceOf(namespace) ?? [])
    .filter((space) => seesAll || session.canSee(Space, space));
}

function presentSharedSpaces(session: Session, instance: ServiceInstance, base: string): object {
  const { cache } = session;
  const spaces = listSharedSpaces(session, instance);
  const self = `${base}/v3/service_instances/${cache.guid(ServiceInstance, instance)}/relationships/shared_spaces`;
  return { ...toManyRelationship(spaces.map((space) => cache.guid(Space, space))), links: { self: link(self) } };
}

const list = endpoint({
  method: "GET",
  path,
  permission: read,
  query: sharedSpacesQuery,
  summary: "List the spaces with which a service instance is shared",
  handler: ({ session, params, query, base }) => {
    const instance = session.get(ServiceInstance, params.guid);
    const spaces = listSharedSpaces(session, instance);
    return ok({
      ...presentSharedSpaces(session, instance, base),
      ...(hasFields(query) && { included: includedSpaceFields(session, spaces, query) }),
    });
  },
});

const usageSummary = endpoint({
  method: "GET",
  path: `${path}/usage_summary`,
  permission: read,
  summary: "Count the bound apps in the spaces with which a service instance is shared",
  handler: ({ session, params, base }) => {
    const { cache } = session;
    const instance = session.get(ServiceInstance, params.guid);
    const bindings = bindingsOfInstance(cache, instance).filter(({ spec }: ServiceBinding) => spec.type === "app");
    const self = `${base}/v3/service_instances/${params.guid}`;
    return ok({
      usage_summary: listSharedSpaces(session, instance).map((space) => ({
        space: { guid: cache.guid(Space, space) },
        bound_app_count: bindings.filter(({ metadata }) => metadata.namespace === space.status?.namespace).length,
      })),
      links: {
        self: link(`${self}/relationships/shared_spaces/usage_summary`),
        shared_spaces: link(`${self}/relationships/shared_spaces`),
        service_instance: link(self),
      },
    });
  },
});

const share = endpoint({
  method: "POST",
  path,
  permission: write,
  body: addToManySchema,
  summary: "Share a service instance with other spaces",
  handler: async ({ session, params, body, base }) => {
    requireFlag(session, "service_instance_sharing");
    const instance = session.get(ServiceInstance, params.guid);
    const targets = body.data.map(({ guid }) => guid);
    const namespaces = findTargets(session, INSTANCES, { object: instance, name: displayNameOf(instance) }, targets);
    requireSharing(session, instance, namespaces);
    return ok(presentSharedSpaces(session, await shareWith(session, INSTANCES, instance, namespaces), base));
  },
});

/** @throws CFError 422 */
function requireSharing({ cache }: Session, instance: ServiceInstance, namespaces: readonly string[]): void {
  if (instance.spec.type !== "managed") throw unprocessable("User-provided services cannot be shared.");
  requireMade(instance);
  const plan = planOf(cache, instance);
  if (plan?.spec.available === false)
    throw unprocessable(`The service instance could not be shared as the ${plan.spec.name} plan is inactive.`);
  for (const namespace of namespaces) {
    requireShareable(cache, instance, namespace);
    requireNameFree(cache, instance, namespace);
  }
}

/** @throws CFError 422 while the broker makes it, or has failed to */
function requireMade({ metadata, status }: ServiceInstance): void {
  if (metadata.deletionTimestamp) throw unprocessable("The service instance is getting deleted.");
  const { type, state } = status?.lastOperation ?? { type: "create", state: "initial" };
  if (type !== "create" || state === "succeeded") return;
  throw unprocessable(
    state === "failed"
      ? "The service instance was not created. Delete it, and create it again."
      : "Service instance is currently being created. It can be shared after its creation succeeded.",
  );
}

const unshare = endpoint({
  method: "DELETE",
  path: `${path}/:space`,
  permission: write,
  summary: "Unshare a service instance; the bindings of apps in that space go, too",
  handler: async ({ session, params }) => {
    const instance = session.get(ServiceInstance, params.guid);
    // As in CF, who shares an instance may end that, whether or not the other space lets them in.
    const namespace = session.cache.findByGUID(Space, params.space)?.status?.namespace;
    if (namespace === undefined)
      throw unprocessable(`Unable to unshare service instance from space ${params.space}. Ensure the space exists.`);
    await session.patchWithRetry(ServiceInstance, instance, (current) => {
      const spec = withoutSpace(current, namespace);
      return spec && { spec };
    });
    if (namespace !== instance.metadata.namespace) await waitUntilUnbound(session, instance, namespace);
    return noContent();
  },
});

/** The controller deletes the bindings there. One that goes on at its broker is left to it. @throws CFError 502 for one that its broker does not delete */
async function waitUntilUnbound(session: Session, instance: ServiceInstance, namespace: string): Promise<void> {
  const left = (): ServiceBinding[] =>
    bindingsOfInstance(session.cache, instance).filter(({ metadata }) => metadata.namespace === namespace);
  const isUnderWay = (binding: ServiceBinding): boolean => !isUnbindFailed(binding) && !isGoingOn(binding);
  await session.holdWhile([ServiceBinding], () => left().some(isUnderWay));
  const failed = left().filter(isUnbindFailed);
  if (failed.length === 0) return;
  const lines = failed.map((binding) => describeFailure(session.cache, instance, binding));
  throw new CFError("ServiceInstanceUnshareFailed", lines.join("\n\n"));
}

const isUnbindFailed = ({ status }: ServiceBinding): boolean =>
  status?.lastOperation?.type === "delete" && status.lastOperation.state === "failed";

const isGoingOn = ({ status }: ServiceBinding): boolean =>
  status?.lastOperation?.type === "delete" && status.lastOperation.state === "in progress";

function describeFailure(cache: ClusterCache, instance: ServiceInstance, binding: ServiceBinding): string {
  const app = appOf(cache, binding);
  const space = cache.spaceOf(binding.metadata.namespace);
  const what = app ? `the application ${displayNameOf(app)}` : `binding ${binding.metadata.name}`;
  return `The binding between ${what} and service instance ${displayNameOf(instance)} in space ${space ? displayNameOf(space) : ""} could not be deleted: ${binding.status?.lastOperation?.description ?? ""} It is tried again.`;
}

export const sharedSpaceEndpoints: readonly Endpoint[] = [list, usageSummary, share, unshare];
