// HTTPRoute of the Gateway API (gateway.networking.k8s.io/v1), as far as this class writes and reads it.
import type { Condition, KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";

/** The Gateway to which a route belongs. */
export interface ParentRef {
  group?: string;
  kind?: string;
  namespace?: string;
  name: string;
  sectionName?: string;
}

export interface HTTPRoute extends KubeObject {
  spec?: { parentRefs?: ParentRef[] };
  status?: { parents?: { parentRef: ParentRef; controllerName: string; conditions?: Condition[] }[] };
}

export const HTTPRoute: ResourceRef<HTTPRoute> = {
  group: "gateway.networking.k8s.io",
  version: "v1",
  kind: "HTTPRoute",
  plural: "httproutes",
  namespaced: true,
};
