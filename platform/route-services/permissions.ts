// Watches and permissions of the operation `route-service`.
import { Domain } from "../../crds/domain/domain.ts";
import { RouteBinding } from "../../crds/route-binding/route-binding.ts";
import { ConfigMap, Service } from "../../kube/api/builtin.ts";
import { LIST_WATCH_VERBS } from "../../kube/controller/permissions.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";

export const ROUTE_SERVICE_PERMISSIONS: readonly Permission[] = [RouteBinding, Service, Domain].map(
  (resource): Permission => ({ resource, verbs: LIST_WATCH_VERBS }),
);

/** The settings of networks. */
export const ROUTE_SERVICE_SYSTEM_PERMISSIONS: readonly Permission[] = [
  { resource: ConfigMap, verbs: LIST_WATCH_VERBS },
];
