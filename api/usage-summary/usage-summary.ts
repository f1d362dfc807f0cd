// Endpoints of usage: `usage_summary` of an org, of a space, and of the platform.
import { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { countProcesses, listRoutes, listSpaceNamespaces, listTasks } from "../cf/quota/usage.ts";
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { CFError } from "../http/errors.ts";
import { link } from "../http/presentation.ts";

/** `namespaces` are those of spaces. */
function summarize(cache: ClusterCache, namespaces: readonly string[], domains: number): object {
  const used = countProcesses(cache, namespaces);
  const routes = listRoutes(cache, namespaces);
  return {
    started_instances: used.instances,
    memory_in_mb: used.memoryMB,
    routes: routes.length,
    service_instances: 0,
    reserved_ports: routes.filter((route) => route.spec.port !== 0).length,
    domains,
    per_app_tasks: listTasks(cache, namespaces).length,
    service_keys: 0,
  };
}

const ofOrg = endpoint({
  method: "GET",
  path: "/v3/organizations/:guid/usage_summary",
  permission: { verb: "get", on: Org },
  summary: "Get the usage summary of an organization",
  handler: ({ session, params, base }) => {
    const { cache } = session;
    const { namespace = "" } = session.get(Org, params.guid).status ?? {};
    const domains = cache.store(Domain).list({ namespace }).length;
    return ok({
      usage_summary: summarize(cache, listSpaceNamespaces(cache, namespace), domains),
      links: {
        self: link(`${base}/v3/organizations/${params.guid}/usage_summary`),
        organization: link(`${base}/v3/organizations/${params.guid}`),
      },
    });
  },
});

const ofSpace = endpoint({
  method: "GET",
  path: "/v3/spaces/:guid/usage_summary",
  permission: { verb: "get", on: Space },
  summary: "Get the usage summary of a space",
  handler: ({ session, params, base }) => {
    const { status, metadata } = session.get(Space, params.guid);
    const { cache } = session;
    const domains = cache.store(Domain).list({ namespace: metadata.namespace ?? "" }).length;
    return ok({
      usage_summary: summarize(cache, status?.namespace ? [status.namespace] : [], domains),
      links: {
        self: link(`${base}/v3/spaces/${params.guid}/usage_summary`),
        space: link(`${base}/v3/spaces/${params.guid}`),
      },
    });
  },
});

const ofPlatform = endpoint({
  method: "GET",
  path: "/v3/info/usage_summary",
  permission: "authenticated",
  summary: "Get the usage summary of the platform",
  handler: ({ session, base }) => {
    // As in CF, others than those who read everything learn nothing.
    if (!session.allows({ verb: "get", on: Org })) throw new CFError("NotFound");
    const { cache } = session;
    const namespaces = cache
      .store(Space)
      .list()
      .flatMap(({ status }) => status?.namespace ?? []);
    const isPrivate = ({ metadata }: Domain): boolean => metadata.namespace !== SYSTEM_NAMESPACE;
    return ok({
      usage_summary: summarize(cache, namespaces, cache.store(Domain).list().filter(isPrivate).length),
      links: { self: link(`${base}/v3/info/usage_summary`) },
    });
  },
});

export const usageSummaryEndpoints: readonly Endpoint[] = [ofOrg, ofSpace, ofPlatform];
