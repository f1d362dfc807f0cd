// Read-only endpoints of Stack: `/v3/stacks`.
import { sortKeyOfName } from "../../crds/object-names.ts";
import { Stack } from "../../crds/stack/stack.ts";
import { endpoint, ok, type Endpoint } from "../http/endpoint.ts";
import { booleanText } from "../http/query.ts";
import { listObjects, isOneOf } from "../cache/list-objects.ts";
import { presentPage } from "../http/page.ts";
import { presentIdentity, link, presentMetadata } from "../http/presentation.ts";
import { csv, listQuery } from "../http/query.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

const stackListQuery = listQuery({ names: csv.optional(), default: booleanText.optional() }, { orders: ["name"] });

function presentStack(cache: ClusterCache, stack: Stack, base: string): object {
  const at = presentIdentity(cache, Stack, stack);
  const { name, description, runImage, buildImage } = stack.spec;
  return {
    ...at,
    name,
    description,
    state: "ACTIVE",
    state_reason: null,
    run_rootfs_image: runImage ?? name,
    build_rootfs_image: buildImage ?? name,
    default: stack.spec.default,
    ...presentMetadata(stack),
    links: { self: link(`${base}/v3/stacks/${at.guid}`) },
  };
}

export const stackEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/stacks",
    permission: "authenticated",
    lists: [Stack],
    query: stackListQuery,
    summary: "List stacks",
    handler: ({ session, query, base, url }) => {
      const found = listObjects(session, Stack, query, {
        url,
        filter: ({ spec }) =>
          isOneOf(query.names, spec.name) && (query.default === undefined || spec.default === query.default),
        sortKeys: { name: sortKeyOfName },
      });
      return ok(presentPage(found, { base, url, query }, (stack) => presentStack(session.cache, stack, base)));
    },
  }),
  endpoint({
    method: "GET",
    path: "/v3/stacks/:guid",
    permission: { verb: "get", on: Stack },
    summary: "Get a stack",
    handler: ({ session, params, base }) => ok(presentStack(session.cache, session.get(Stack, params.guid), base)),
  }),
];
