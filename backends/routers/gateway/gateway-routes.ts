// HTTPRoute and TCPRoute of the Gateway API (gateway.networking.k8s.io), as far as this class writes and reads them.
import type { Condition, KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";

/** The Gateway to which a route belongs. */
export interface ParentRef {
  group?: string;
  kind?: string;
  namespace?: string;
  name: string;
  sectionName?: string;
  /** The listeners at this port alone. */
  port?: number;
}

/** A route of either kind. */
export interface GatewayRoute extends KubeObject {
  spec?: { parentRefs?: ParentRef[] };
  status?: { parents?: { parentRef: ParentRef; controllerName: string; conditions?: Condition[] }[] };
}

export const HTTPRoute: ResourceRef<GatewayRoute> = {
  group: "gateway.networking.k8s.io",
  version: "v1",
  kind: "HTTPRoute",
  plural: "httproutes",
  namespaced: true,
};

/** The version that all releases of the Gateway API serve; its standard channel has the kind since 1.6. */
export const TCPRoute: ResourceRef<GatewayRoute> = {
  group: "gateway.networking.k8s.io",
  version: "v1alpha2",
  kind: "TCPRoute",
  plural: "tcproutes",
  namespaced: true,
};
