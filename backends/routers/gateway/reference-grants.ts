// ReferenceGrants: they let the HTTPRoute or TCPRoute of a route lead to a Service in another space that the route is shared with. Each goes with the last binding that needs it.
import { LABELS } from "../../../crds/labels.ts";
import { generatedName } from "../../../crds/object-names.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { KubeObject, ObjectKey } from "../../../kube/api/object.ts";
import { apiVersionOf, type ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { IndexFunction } from "../../../kube/cache/reader.ts";
import type { Draft } from "../../../kube/client/client.ts";
import { defineController, watch, type Controller } from "../../../kube/controller/controller.ts";
import type { Permission } from "../../../kube/rbac/resource-rules.ts";
import { deleteUnneeded } from "../services/delete-unneeded.ts";
import { servedDestinations, serviceName, type RouteDestination } from "../services/plan.ts";
import { GATEWAY_CLASS } from "./class-name.ts";
import { HTTPRoute, TCPRoute } from "./gateway-routes.ts";

export const ReferenceGrant: ResourceRef = {
  group: HTTPRoute.group,
  version: "v1beta1",
  kind: "ReferenceGrant",
  plural: "referencegrants",
  namespaced: true,
};

const GRANT_CONTROLLER = "gateway-grant";
const GRANT_INDEX = "gateway/grant";

/** Indexes RouteBindings by `namespace/name` of the grants that they need. */
export const GRANT_INDEXES: Readonly<Record<string, IndexFunction<RouteBinding>>> = {
  [GRANT_INDEX]: (binding) => grantKeys(binding).map(({ namespace, name }) => `${namespace}/${name}`),
};

/** A changed or deleted grant enqueues the bindings that need it. */
export const GRANT_WATCH = watch(ReferenceGrant, ({ metadata }: KubeObject) => ({
  [GRANT_INDEX]: `${metadata.namespace}/${metadata.name}`,
}));

/** For the controller of bindings, which creates the grants. */
export const GRANT_PERMISSION: Permission = { resource: ReferenceGrant, verbs: ["create", "patch"] };

/** A grant for each Service of another space that a route of this namespace leads to. Pure. */
export function planReferenceGrants(binding: RouteBinding): Draft[] {
  return foreignDestinations(binding).map((destination) => ({
    apiVersion: apiVersionOf(ReferenceGrant),
    kind: ReferenceGrant.kind,
    metadata: {
      ...grantKey(binding, destination),
      labels: { [LABELS.app]: destination.appGUID, [LABELS.managedBy]: GRANT_CONTROLLER },
    },
    spec: planGrantSpec(binding, destination),
  }));
}

/** Several routes of a space share a grant, so it has no owner, like the Services. */
export const grantController: Controller = defineController({
  name: GRANT_CONTROLLER,
  for: ReferenceGrant,
  selects: (grant) => grant.metadata.labels?.[LABELS.managedBy] === GRANT_CONTROLLER,
  writesStatus: false,
  watches: [watch(RouteBinding, grantKeys)],
  permissions: [{ resource: ReferenceGrant, verbs: ["delete"] }],

  async reconcile(grant, { read, client }) {
    const { namespace, name } = grant.metadata;
    const [binding] = read.byIndex(RouteBinding, GRANT_INDEX, `${namespace}/${name}`);
    const destination = binding && foreignDestinations(binding).find((one) => grantKey(binding, one).name === name);
    if (destination) return { spec: planGrantSpec(binding, destination) };
    await deleteUnneeded(ReferenceGrant, grant, { read, client });
    return {};
  },
});

function grantKeys(binding: RouteBinding): ObjectKey[] {
  return foreignDestinations(binding).map((destination) => grantKey(binding, destination));
}

function foreignDestinations(binding: RouteBinding): RouteDestination[] {
  if (binding.spec.class !== GATEWAY_CLASS) return [];
  return servedDestinations(binding).filter(({ namespace }) => namespace !== undefined);
}

function grantKey({ metadata }: RouteBinding, destination: RouteDestination): ObjectKey {
  const name = generatedName(`from-${metadata.namespace}`, `${metadata.namespace}/${serviceName(destination)}`);
  return { namespace: destination.namespace ?? "", name };
}

function planGrantSpec({ metadata }: RouteBinding, destination: RouteDestination): Record<string, unknown> {
  return {
    from: [HTTPRoute, TCPRoute].map(({ group, kind }) => ({ group, kind, namespace: metadata.namespace ?? "" })),
    to: [{ group: "", kind: "Service", name: serviceName(destination) }],
  };
}
