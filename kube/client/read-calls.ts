// Read calls of a client: get, find, list, pages, review.
import type { KubeList, KubeObject, ObjectKey } from "../api/object.ts";
import { apiVersionOf, resourcePath, type ResourceRef } from "../api/resource-ref.ts";
import type { CallOptions, KubeClient, ListOptions } from "./client.ts";
import { isNotFound, KubeError } from "./errors.ts";
import { METADATA_ACCEPT, type Send } from "./outgoing-request.ts";

const PAGE_SIZE = 500;

type ReadCalls = Pick<KubeClient, "get" | "find" | "list" | "pages" | "review">;

export function createReadCalls(send: Send): ReadCalls {
  const client: ReadCalls = {
    get: <T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, call?: CallOptions) =>
      send<T>({ method: "GET", path: resourcePath(ref, key), call }),
    async find(ref, key, call) {
      try {
        return await client.get(ref, key, call);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    async list<T extends KubeObject>(ref: ResourceRef<T>, options?: ListOptions) {
      let all: KubeList<T> | undefined;
      for await (const page of client.pages(ref, options)) {
        if (all) all.items.push(...page.items);
        all = { ...page, items: all?.items ?? page.items };
      }
      if (!all) throw new KubeError({ code: 0, reason: "Unreachable", message: "the API server sent no list" });
      return all;
    },
    pages: (ref, options = {}) => pages(send, ref, options),
    review: <T extends KubeObject>(ref: ResourceRef<T>, body: { spec?: unknown }, call?: CallOptions) =>
      send<T>({
        method: "POST",
        path: resourcePath(ref),
        body: { apiVersion: apiVersionOf(ref), kind: ref.kind, ...body },
        call,
      }),
  };
  return client;
}

async function* pages<T extends KubeObject>(
  send: Send,
  ref: ResourceRef<T>,
  options: ListOptions,
): AsyncGenerator<KubeList<T>, void, undefined> {
  const {
    namespace,
    limit = PAGE_SIZE,
    labelSelector,
    fieldSelector,
    resourceVersion,
    resourceVersionMatch,
    metadata,
    ...call
  } = options;
  const path = resourcePath(ref, namespace ? { namespace } : {});
  const meta = { apiVersion: apiVersionOf(ref), kind: ref.kind };
  let token: string | undefined;
  do {
    // A continue token holds the version; the server rejects both together.
    const version = token ? {} : { resourceVersion, resourceVersionMatch };
    const page = await send<KubeList<T>>({
      method: "GET",
      path,
      query: { limit, labelSelector, fieldSelector, ...version, continue: token },
      call,
      ...(metadata && { accept: METADATA_ACCEPT.list }),
    });
    page.items = (page.items ?? []).map((item) => (metadata ? { ...item, ...meta } : { ...meta, ...item }));
    token = page.metadata.continue;
    yield page;
  } while (token);
}
