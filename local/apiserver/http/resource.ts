// A resource request: authorize, find the verb, answer in the form asked for.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { KubeObject } from "../../../kube/api/object.ts";
import { trackUpdate } from "../apply/managed.ts";
import { decodeTyped } from "../builtin/decode.ts";
import { builtinView, schemaOfKind } from "../builtin/schemas.ts";
import type { AttributesRecord, Authorize, UserInfo } from "../types.ts";
import { checkTypedKind, type Core, type InternalCall, timestamp, writeOptions } from "../registry/core.ts";
import { create } from "../registry/create.ts";
import { deleteOptions, remove, removeCollection } from "../registry/delete.ts";
import { patch } from "../registry/patch.ts";
import { get, list, type Listed } from "../registry/read.ts";
import { getScale, writeScale } from "../registry/scale.ts";
import type { ResourceType, Target, Virtual } from "../registry/types.ts";
import { update } from "../registry/update.ts";
import { watch } from "../registry/watch.ts";
import {
  badRequest,
  failure,
  forbidden,
  forbiddenPath,
  methodNotAllowed,
  noSuchPath,
  notFound,
  qualified,
} from "../status.ts";
import { jsonOf } from "../storage/store.ts";
import { mediaTypeOf, readObject, readOptional, readPatch } from "./body.ts";
import { negotiate, type Wanted } from "./negotiate.ts";
import type { RequestInfo } from "./path.ts";
import { addWarnings, sendPlain, sendText } from "./respond.ts";
import { partialOf, tableOf } from "./table.ts";
import { streamWatch } from "./watch-stream.ts";

export interface ResourceContext {
  core: Core;
  authorize: Authorize;
  /** Ends long answers when the server stops. */
  stopped: AbortSignal;
}

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  info: RequestInfo;
  query: URLSearchParams;
  user: UserInfo;
}

/** Throws 403 as kube-apiserver words it. */
export function checkAuthorized(authorize: Authorize, user: UserInfo, info: RequestInfo): void {
  const { group, version, resource, subresource, namespace, name, verb } = info;
  const attributes: AttributesRecord = info.isResource
    ? { user, verb, group, version, resource, subresource, namespace, name }
    : { user, verb, group: "", version: "", resource: "", subresource: "", namespace: "", name: "", path: info.path };
  const decision = authorize(attributes);
  if (decision.allowed) return;
  const why = decision.reason ? `: ${decision.reason}` : "";
  if (!info.isResource)
    throw forbiddenPath(
      `forbidden: User ${JSON.stringify(user.name)} cannot ${verb} path ${JSON.stringify(info.path)}${why}`,
    );
  const full = subresource ? `${resource}/${subresource}` : resource;
  const where = namespace ? `in the namespace ${JSON.stringify(namespace)}` : "at the cluster scope";
  throw forbidden(
    { group, resource },
    name,
    `User ${JSON.stringify(user.name)} cannot ${verb} resource ${JSON.stringify(full)} in API group ${JSON.stringify(group)} ${where}${why}`,
  );
}

/** Answers one resource request. Throws StatusError. */
export async function handleResource(context: ResourceContext, exchange: Exchange): Promise<void> {
  const { info, user } = exchange;
  checkAuthorized(context.authorize, user, info);
  const { catalogue } = context.core;
  const virtual = catalogue.findVirtual(info.group, info.version, info.resource, info.subresource);
  if (virtual) return handleVirtual(context, exchange, virtual);
  const found = catalogue.findVersion(info.group, info.version, info.resource);
  if (!found || isNowhere(info, found.type)) return unknownResource(context, exchange);
  checkShape(info, found.type);
  const call = callOf(context, exchange, found);
  try {
    await (info.subresource ? handleSubresource : (VERBS[info.verb] ?? refuse))(context, exchange, call);
  } catch (error) {
    // Warnings from before the refusal are sent with it.
    if (!exchange.response.headersSent) addWarnings(exchange.response, call.warnings);
    throw error;
  }
}

function callOf(
  context: ResourceContext,
  { info, user, request, query }: Exchange,
  { type, version }: Pick<Target, "type" | "version">,
): InternalCall {
  return {
    target: {
      type,
      version,
      namespace: type.namespaced ? info.namespace : "",
      name: info.name,
      subresource: info.subresource,
    },
    user,
    query,
    faults: [],
    userAgent: request.headers["user-agent"] ?? "",
    warnings: version.deprecationWarning ? [version.deprecationWarning] : [],
    checkCreate: () => checkAuthorized(context.authorize, user, { ...info, verb: "create" }),
  };
}

const NOWHERE = "404 page not found\n";

/** As kube-apiserver: a Status inside a built-in group version, plain text elsewhere. */
function unknownResource({ core }: ResourceContext, { info, response }: Exchange): void {
  const isServed = core.catalogue
    .list()
    .some(
      (type) =>
        type.builtin && type.group === info.group && type.versions.some(({ version }) => version === info.version),
    );
  if (isServed) throw noSuchPath();
  sendPlain(response, 404, NOWHERE);
}

/** A custom object in a namespace has no path outside it. */
function isNowhere({ namespace, verb }: RequestInfo, { builtin, namespaced }: ResourceType): boolean {
  return !builtin && namespaced && namespace === "" && verb !== "list" && verb !== "watch";
}

const ON_COLLECTION = new Set(["create", "list", "watch", "deletecollection"]);

/** Refuses verbs and paths that do not fit the resource, such as a superfluous name or a missing namespace. */
function checkShape(info: RequestInfo, type: ResourceType): void {
  checkScope(info, type);
  if (info.subresource) return;
  const hasName = info.name !== "" && (info.verb === "create" || !ON_COLLECTION.has(info.verb));
  if (!hasName && !type.builtin && (info.verb === "update" || info.verb === "patch"))
    throw badRequest("name must be provided");
  if (!type.verbs.includes(info.verb) || ON_COLLECTION.has(info.verb) === hasName) throw methodNotAllowed();
  checkNamespacing(info, type);
}

/** A cluster-scoped object has no path through a namespace, since permissions in a namespace must not reach it. Only a Namespace is inside itself. */
function checkScope(
  info: RequestInfo,
  { namespaced, group, resource }: Pick<ResourceType, "namespaced" | "group" | "resource">,
): void {
  const isItself = group === "" && resource === "namespaces" && info.namespace === info.name;
  if (!namespaced && info.namespace !== "" && !isItself) throw noSuchPath();
}

function checkNamespacing(info: RequestInfo, type: ResourceType): void {
  if (type.namespaced && info.namespace === "" && info.verb !== "list" && info.verb !== "watch")
    throw ON_COLLECTION.has(info.verb) ? methodNotAllowed() : noSuchPath();
}

type Handler = (door: ResourceContext, exchange: Exchange, call: InternalCall) => void | Promise<void>;

const refuse: Handler = () => {
  throw methodNotAllowed();
};

const OBJECT_VIEWS = ["Table", "PartialObjectMetadata"];
const LIST_VIEWS = ["Table", "PartialObjectMetadataList"];

function sendObject(exchange: Exchange, call: InternalCall, code: number, object: KubeObject): void {
  const wanted = negotiate(exchange.request, OBJECT_VIEWS);
  addWarnings(exchange.response, call.warnings);
  const include = call.query.get("includeObject") ?? "Metadata";
  const text =
    wanted.as === "Table"
      ? tableOf(
          call.target.version,
          [object],
          { resourceVersion: object.metadata.resourceVersion },
          { withColumns: true, include },
        )
      : wanted.as
        ? partialOf(object)
        : jsonOf(object);
  sendText(exchange.response, code, text, wanted);
}

function listText(call: InternalCall, listed: Listed, wanted: Wanted): string {
  const { items, ...metadata } = listed;
  const { type, version } = call.target;
  if (wanted.as === "Table")
    return tableOf(version, items, metadata, {
      withColumns: true,
      include: call.query.get("includeObject") ?? "Metadata",
    });
  if (wanted.as)
    return `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":${JSON.stringify(metadata)},"items":[${items.map(partialOf).join(",")}]}`;
  const apiVersion = type.group ? `${type.group}/${version.version}` : version.version;
  const shownMetadata = type.builtin ? metadata : { continue: "", ...metadata };
  return `{"kind":"${type.listKind}","apiVersion":"${apiVersion}","metadata":${JSON.stringify(shownMetadata)},"items":[${items.map(type.builtin ? untypedText(apiVersion, type.kind) : jsonOf).join(",")}]}`;
}

/** Items of built-in lists carry no kind of their own. */
function untypedText(apiVersion: string, kind: string): (object: KubeObject) => string {
  const prefix = `{"apiVersion":${JSON.stringify(apiVersion)},"kind":${JSON.stringify(kind)},`;
  return (object) => {
    const text = jsonOf(object);
    if (text.startsWith(prefix)) return `{${text.slice(prefix.length)}`;
    const { apiVersion: _apiVersion, kind: _kind, ...rest } = object;
    return JSON.stringify(rest);
  };
}

const VERBS: Record<string, Handler> = {
  get: ({ core }, exchange, call) => sendObject(exchange, call, 200, get(core, call)),
  list: ({ core }, exchange, call) => {
    const wanted = negotiate(exchange.request, LIST_VIEWS);
    addWarnings(exchange.response, call.warnings);
    sendText(exchange.response, 200, listText(call, list(core, call), wanted), wanted);
  },
  watch: ({ core, stopped }, exchange, call) => {
    const { as } = negotiate(exchange.request, OBJECT_VIEWS);
    const prepared = watch(core, call);
    addWarnings(exchange.response, call.warnings);
    streamWatch(
      exchange.response,
      prepared,
      {
        version: call.target.version,
        as,
        include: call.query.get("includeObject") ?? "Metadata",
        timeoutSeconds: Number(call.query.get("timeoutSeconds") ?? 0) || 0,
      },
      stopped,
    );
  },
  create: async ({ core }, exchange, call) =>
    sendObject(
      exchange,
      call,
      201,
      await create(core, call, await readObject(exchange, call.faults, call.target.type.kind)),
    ),
  update: async ({ core }, exchange, call) => {
    const { object, created } = await update(
      core,
      call,
      await readObject(exchange, call.faults, call.target.type.kind),
    );
    sendObject(exchange, call, created ? 201 : 200, object);
  },
  patch: async ({ core }, exchange, call) => {
    const { object, created } = await patch(
      core,
      call,
      mediaTypeOf(exchange.request),
      await readPatch(exchange, call.faults),
    );
    sendObject(exchange, call, created ? 201 : 200, object);
  },
  delete: async ({ core }, exchange, call) => {
    const { answer, code } = await remove(core, call, deleteOptions(await readOptional(exchange), call.query));
    addWarnings(exchange.response, call.warnings);
    sendText(exchange.response, code, JSON.stringify(answer), negotiate(exchange.request, []));
  },
  deletecollection: async ({ core }, exchange, call) => {
    const removed = await removeCollection(core, call, deleteOptions(await readOptional(exchange), call.query));
    addWarnings(exchange.response, call.warnings);
    const wanted = negotiate(exchange.request, LIST_VIEWS);
    sendText(
      exchange.response,
      200,
      listText(call, { items: removed, resourceVersion: String(core.store.version()) }, wanted),
      wanted,
    );
  },
};

async function handleSubresource(context: ResourceContext, exchange: Exchange, call: InternalCall): Promise<void> {
  const { core } = context;
  const { info, request } = exchange;
  const subresource = call.target.version.subresources.find((sub) => sub.name === info.subresource);
  const { type } = call.target;
  const on = { group: type.group, resource: type.resource };
  if (!subresource) throw type.builtin ? noSuchPath() : notFound(on, info.name);
  if (!subresource.verbs.includes(info.verb))
    throw type.builtin
      ? methodNotAllowed()
      : failure(
          405,
          "MethodNotAllowed",
          `${info.verb} is not supported on resources of kind ${JSON.stringify(qualified(on))}`,
          { details: { group: type.group, kind: type.resource } },
        );
  if (info.subresource !== "scale") return (VERBS[info.verb] ?? refuse)(context, exchange, call) as Promise<void>;
  const wanted = negotiate(request, []);
  if (info.verb === "get") return sendText(exchange.response, 200, JSON.stringify(getScale(core, call)), wanted);
  const scale =
    info.verb === "update"
      ? await writeScale(core, call, undefined, await readObject(exchange, call.faults, "Scale"))
      : await writeScale(core, call, mediaTypeOf(request), await readPatch(exchange, call.faults));
  addWarnings(exchange.response, call.warnings);
  sendText(exchange.response, 200, JSON.stringify(scale), wanted);
}

async function handleVirtual(context: ResourceContext, exchange: Exchange, virtual: Virtual): Promise<void> {
  const { info, user } = exchange;
  if (info.verb !== "create") throw methodNotAllowed();
  checkScope(info, { namespaced: virtual.namespaced, ...virtual.gvr });
  const wanted = negotiate(exchange.request, []);
  const body = await readObject(exchange, [], virtual.gvk.kind);
  checkTypedKind(virtual.gvk, body);
  const { group, version, kind } = virtual.gvk;
  decodeTyped(builtinView(schemaOfKind(group, version, kind) ?? ""), body, kind, version);
  if (virtual.namespaced && body.metadata.namespace && body.metadata.namespace !== info.namespace)
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  const options = virtualOptions(exchange);
  if (
    virtual.subresource &&
    !context.core.store.table(`${info.group}/${info.resource}`).find(info.namespace, info.name)
  ) {
    throw notFound({ group: info.group, resource: info.resource }, info.name);
  }
  trackFields(context, virtual, body, options.fieldManager);
  addWarnings(exchange.response, await admitVirtual(context, exchange, { virtual, body, dryRun: options.dryRun }));
  const answer = await virtual.create({
    user,
    namespace: info.namespace,
    name: info.name,
    body,
    dryRun: options.dryRun,
  });
  sendText(exchange.response, 201, JSON.stringify(answer), wanted);
}

/** Returns the warnings of policies. Reviews are asked of none. */
function admitVirtual(
  { core }: ResourceContext,
  { info, user }: Exchange,
  { virtual, body, dryRun }: { virtual: Virtual; body: KubeObject; dryRun: boolean },
): Promise<string[]> {
  const { namespace, name } = info;
  const namespaceObject = namespace ? core.store.table("/namespaces").find("", namespace) : undefined;
  return core.admit({
    operation: "CREATE",
    user,
    gvr: virtual.gvr,
    gvk: virtual.gvk,
    subresource: virtual.subresource,
    namespace,
    name,
    object: body,
    ...(namespaceObject && { namespaceObject }),
    dryRun,
  });
}

function virtualOptions({ request, query, user }: Exchange): ReturnType<typeof writeOptions> {
  const userAgent = request.headers["user-agent"] ?? "";
  return writeOptions({ query, userAgent, user, faults: [], warnings: [], target: {} as never }, "CreateOptions");
}

function trackFields(context: ResourceContext, virtual: Virtual, body: KubeObject, manager: string): void {
  const { group, version, kind } = virtual.gvk;
  const empty = { apiVersion: `${group}/${version}`, kind, metadata: {} as KubeObject["metadata"], spec: {} };
  trackUpdate(
    {
      view: builtinView(schemaOfKind(group, version, kind) ?? ""),
      empty,
      manager,
      subresource: virtual.subresource,
      apiVersion: empty.apiVersion,
      time: timestamp(context.core.now()),
      reset: ["status"],
    },
    undefined,
    body,
  );
}
