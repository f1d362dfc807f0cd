// Endpoints of Stack: `/v3/stacks`. The apps of a stack are in api/app.
import { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { newGUID } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import { foldName, objectNameFor, sortKeyOfName } from "../../crds/object-names.ts";
import { MAX_STATE_REASON, Stack } from "../../crds/stack/stack.ts";
import type { Draft } from "../../kube/client/client.ts";
import { created, endpoint, noContent, ok, type Endpoint } from "../routing/endpoint.ts";
import { type CFError, unprocessable } from "../http/errors.ts";
import { booleanText } from "../http/query.ts";
import type { Session } from "../access/session.ts";
import { listObjects, isOneOf } from "../lists/list-objects.ts";
import { defaultStack, stackOf } from "../cf/app/lifecycle.ts";
import { metadataSchema, toMetadataPatch, metadataForCreate } from "../http/metadata.ts";
import { presentPage } from "../lists/page.ts";
import { presentIdentity, link, presentMetadata } from "../http/presentation.ts";
import { csv, listQuery } from "../http/query.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

const path = "/v3/stacks/:guid";

/** CF's states, and those of the noun. */
const STATES = { ACTIVE: "Active", RESTRICTED: "Restricted", DEPRECATED: "Deprecated", DISABLED: "Disabled" } as const;
const STATE_NAMES = ["ACTIVE", "RESTRICTED", "DEPRECATED", "DISABLED"] as const;
const state = z.enum(STATE_NAMES, `must be one of ${STATE_NAMES.join(", ")}`);
const stateReason = z.string().max(MAX_STATE_REASON).nullable();

const stackListQuery = listQuery({ names: csv.optional(), default: booleanText.optional() }, { orders: ["name"] });
const createStackBody = z.strictObject({
  name: z
    .string()
    .max(250)
    .transform((name) => name.trim())
    .pipe(z.string().min(1)),
  description: z.string().max(250).nullish(),
  state: state.optional(),
  state_reason: stateReason.optional(),
  metadata: metadataSchema.optional(),
});
const updateStackBody = z.strictObject({
  state: state.optional(),
  state_reason: stateReason.optional(),
  metadata: metadataSchema.optional(),
});

function presentStack(cache: ClusterCache, stack: Stack, base: string): object {
  const at = presentIdentity(cache, Stack, stack);
  const { name, description, runImage, buildImage, stateReason: reason } = stack.spec;
  return {
    ...at,
    name,
    description,
    state: (stack.spec.state ?? "Active").toUpperCase(),
    state_reason: reason ?? null,
    run_rootfs_image: runImage ?? name,
    build_rootfs_image: buildImage ?? name,
    default: stack.spec.default,
    ...presentMetadata(stack),
    links: { self: link(`${base}/v3/stacks/${at.guid}`) },
  };
}

/** The object name follows from the stack's name alone, so Kubernetes' create decides between two that want it. */
function toStack(body: z.output<typeof createStackBody>): Draft {
  const { labels, annotations } = metadataForCreate(body.metadata);
  return {
    metadata: {
      name: objectNameFor(body.name, "stack"),
      namespace: SYSTEM_NAMESPACE,
      labels: { ...labels, [LABELS.guid]: newGUID() },
      annotations,
    },
    spec: {
      name: body.name,
      description: body.description ?? "",
      state: STATES[body.state ?? "ACTIVE"],
      ...(body.state_reason && { stateReason: body.state_reason }),
    },
  };
}

const nameTaken = (): CFError => unprocessable("Name must be unique");

/** Objects made by kubectl may have any object name. @throws CFError 422 */
function checkName({ cache }: Session, name: string): void {
  const folded = foldName(name);
  if (
    cache
      .store(Stack)
      .list()
      .some((stack) => foldName(stack.spec.name) === folded)
  )
    throw nameTaken();
}

const writes: readonly Endpoint[] = [
  endpoint({
    method: "POST",
    path: "/v3/stacks",
    permission: { verb: "create", on: Stack },
    body: createStackBody,
    summary: "Create a stack",
    handler: async ({ session, body, base }) => {
      session.authorize({ verb: "create", on: Stack, namespace: SYSTEM_NAMESPACE });
      checkName(session, body.name);
      return created(presentStack(session.cache, await session.create(Stack, toStack(body), nameTaken), base));
    },
  }),
  endpoint({
    method: "PATCH",
    path,
    permission: { verb: "patch", on: Stack },
    body: updateStackBody,
    summary: "Change a stack's state or metadata",
    handler: async ({ session, params, body, base, warn }) => {
      const stack = session.get(Stack, params.guid);
      const spec = {
        ...(body.state && { state: STATES[body.state] }),
        ...(body.state_reason !== undefined && { stateReason: body.state_reason }),
      };
      const after = await session.patch(Stack, stack, {
        type: "merge",
        body: { metadata: toMetadataPatch(body.metadata, stack), spec },
      });
      if (body.state && defaultStack(session.cache) === stack.spec.name)
        warn(`Changing state on the default stack '${stack.spec.name}' may affect new application deployments.`);
      return ok(presentStack(session.cache, after, base));
    },
  }),
  endpoint({
    method: "DELETE",
    path,
    permission: { verb: "delete", on: Stack },
    summary: "Delete a stack",
    handler: async ({ session, params }) => {
      const stack = session.get(Stack, params.guid);
      const { name } = stack.spec;
      const isUsed = session.cache
        .store(App)
        .list()
        .some((app) => stackOf(session.cache, app) === name);
      if (isUsed) throw unprocessable(`Cannot delete stack '${name}' because apps are currently using the stack.`);
      await session.delete(Stack, stack);
      return noContent();
    },
  }),
];

const reads: readonly Endpoint[] = [
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
        // The stacks of an installation are as old as each other.
        defaultSortKey: ({ spec }) => (spec.default ? "0" : "1"),
      });
      return ok(presentPage(found, { base, url, query }, (stack) => presentStack(session.cache, stack, base)));
    },
  }),
  endpoint({
    method: "GET",
    path,
    permission: { verb: "get", on: Stack },
    summary: "Get a stack",
    handler: ({ session, params, base }) => ok(presentStack(session.cache, session.get(Stack, params.guid), base)),
  }),
];

export const stackEndpoints: readonly Endpoint[] = [...reads, ...writes];
