// The toy kind's endpoints as a contributor writes them in api/<kind>/.
import { z } from "zod";
import type { ClusterCache } from "../../../../api/cache/cluster-cache.ts";
import { toNamedMetadata } from "../../../../api/cf/free-object-name.ts";
import { resolveSpace } from "../../../../api/cf/org/org-and-space-namespaces.ts";
import { link, presentIdentity } from "../../../../api/http/presentation.ts";
import { listQuery } from "../../../../api/http/query.ts";
import { newDeletionJob } from "../../../../api/jobs/jobs.ts";
import { listObjects } from "../../../../api/lists/list-objects.ts";
import { presentPage } from "../../../../api/lists/page.ts";
import type { Response } from "../../../../api/openapi/responses.ts";
import { page } from "../../../../api/openapi/schema-parts.ts";
import { accepted, created, endpoint, ok, type Endpoint } from "../../../../api/routing/endpoint.ts";
import { Widget } from "../crds/widget.ts";

/** The responses of its endpoints, for api/openapi/responses.ts. */
const widget = z.strictObject({
  guid: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
  name: z.string(),
  size: z.int(),
  links: z.strictObject({ self: z.strictObject({ href: z.string() }) }),
});
export const widgetResponses: Readonly<Record<string, readonly Response[]>> = {
  "POST /v3/widgets": [[201, widget]],
  "GET /v3/widgets": [[200, page("Widget", widget)]],
  "GET /v3/widgets/:guid": [[200, widget]],
  "DELETE /v3/widgets/:guid": [[202, "job"]],
};

const path = "/v3/widgets/:guid";
const body = z.strictObject({
  name: z.string(),
  size: z.int(),
  relationships: z.strictObject({ space: z.strictObject({ data: z.strictObject({ guid: z.string() }) }) }),
});

function present(cache: ClusterCache, widget: Widget, base: string): object {
  const at = presentIdentity(cache, Widget, widget);
  const { name, size } = widget.spec;
  return { ...at, name, size, links: { self: link(`${base}/v3/widgets/${at.guid}`) } };
}

export const widgetEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "POST",
    path: "/v3/widgets",
    permission: { verb: "create", on: Widget },
    body,
    summary: "Create a widget",
    handler: async ({ session, body: { name, size, relationships }, base }) => {
      const { namespace } = resolveSpace(session, relationships.space.data.guid);
      session.authorize({ verb: "create", on: Widget, namespace });
      const metadata = toNamedMetadata(session.cache, Widget, { namespace, name, fallback: "widget" });
      return created(present(session.cache, await session.create(Widget, { metadata, spec: { name, size } }), base));
    },
  }),
  endpoint({
    method: "GET",
    path: "/v3/widgets",
    permission: "authenticated",
    lists: [Widget],
    query: listQuery({}),
    summary: "List widgets",
    handler: ({ session, query, base, url }) => {
      const found = listObjects(session, Widget, query, { url });
      return ok(presentPage(found, { base, url, query }, (widget) => present(session.cache, widget, base)));
    },
  }),
  endpoint({
    method: "GET",
    path,
    permission: { verb: "get", on: Widget },
    summary: "Get a widget",
    handler: ({ session, params, base }) => ok(present(session.cache, session.get(Widget, params.guid), base)),
  }),
  endpoint({
    method: "DELETE",
    path,
    permission: { verb: "delete", on: Widget },
    summary: "Delete a widget",
    handler: async ({ session, params: { guid } }) => {
      await session.delete(Widget, session.get(Widget, guid));
      return accepted(await newDeletionJob(session, Widget, guid));
    },
  }),
];
