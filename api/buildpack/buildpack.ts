// Read-only endpoints of Buildpack: `/v3/buildpacks`. Operators add buildpacks as objects, with kubectl or Helm.
import { z } from "zod";
import { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { endpoint, ok, type Endpoint } from "../http/endpoint.ts";
import { listObjects, isOneOf } from "../cache/list-objects.ts";
import { presentPage } from "../http/page.ts";
import { presentIdentity, link, presentMetadata } from "../http/presentation.ts";
import { csv, listQuery } from "../http/query.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

const buildpackListQuery = listQuery(
  { names: csv.optional(), stacks: csv.optional(), lifecycle: z.enum(["buildpack", "cnb"]).optional() },
  { orders: ["position", "lifecycle"] },
);

function presentBuildpack(cache: ClusterCache, buildpack: Buildpack, base: string): object {
  const at = presentIdentity(cache, Buildpack, buildpack);
  const { name, stack, lifecycle, position, enabled, locked, path } = buildpack.spec;
  return {
    ...at,
    name,
    stack: stack ?? null,
    state: path ? "READY" : "AWAITING_UPLOAD",
    lifecycle,
    filename: path ? `${name}${buildpack.status?.version ? `-v${buildpack.status.version}` : ""}` : null,
    position,
    enabled,
    locked,
    ...presentMetadata(buildpack),
    links: { self: link(`${base}/v3/buildpacks/${at.guid}`) },
  };
}

function byPosition(buildpack: Buildpack): string {
  return `${buildpack.spec.lifecycle} ${String(buildpack.spec.position).padStart(6, "0")} ${buildpack.spec.name}`;
}

export const buildpackEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/buildpacks",
    permission: "authenticated",
    lists: [Buildpack],
    query: buildpackListQuery,
    summary: "List buildpacks",
    handler: ({ session, query, base, url }) => {
      const found = listObjects(session, Buildpack, query, {
        url,
        filter: ({ spec }) =>
          isOneOf(query.names, spec.name) &&
          isOneOf(query.stacks, spec.stack ?? "") &&
          (query.lifecycle === undefined || spec.lifecycle === query.lifecycle),
        defaultSortKey: byPosition,
        sortKeys: { position: ({ spec }) => String(spec.position).padStart(6, "0"), lifecycle: byPosition },
      });
      return ok(
        presentPage(found, { base, url, query }, (buildpack) => presentBuildpack(session.cache, buildpack, base)),
      );
    },
  }),
  endpoint({
    method: "GET",
    path: "/v3/buildpacks/:guid",
    permission: { verb: "get", on: Buildpack },
    summary: "Get a buildpack",
    handler: ({ session, params, base }) =>
      ok(presentBuildpack(session.cache, session.get(Buildpack, params.guid), base)),
  }),
];
