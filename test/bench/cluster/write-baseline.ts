// The floor of writing: what the platform made of some apps, written again elsewhere by a loop that does nothing else, each object once and its status once.
import { isDeepStrictEqual } from "node:util";
import pLimit from "p-limit";
import { App } from "../../../crds/app/app.ts";
import { Claim } from "../../../crds/claim/claim.ts";
import { DEFINITIONS } from "../../../crds/definitions.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LABELS } from "../../../crds/labels.ts";
import { Route } from "../../../crds/route/route.ts";
import { Deployment, Ingress, Namespace, Secret, Service } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { KubeObject, ObjectKey } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { PARALLEL } from "./make-apps.ts";

export interface FinalObject {
  ref: ResourceRef;
  object: KubeObject;
}

/** Objects of the runner and the router. Their statuses are Kubernetes' own. */
const BUILTIN: readonly ResourceRef[] = [Secret, Deployment, Service, Ingress];

/** Every object of ours, and every Secret, Deployment, Service and Ingress, whose name begins with the prefix of these apps; and their claims. */
export async function collectFinalObjects(admin: KubeClient, prefix: string): Promise<FinalObject[]> {
  const ours: ResourceRef[] = DEFINITIONS.filter((ref) => ref.namespaced && ref.kind !== Claim.kind);
  const found: FinalObject[] = [];
  for (const ref of [...ours, ...BUILTIN]) {
    const { items } = await admin.list(ref);
    const named = items.filter(({ metadata: { name } }) =>
      [prefix, `s-${prefix}`].some((one) => name.startsWith(`${one}-`)),
    );
    found.push(...named.map((object) => ({ ref, object: BUILTIN.includes(ref) ? asWritten(object) : object })));
  }
  const claims = (await admin.list(Claim, { namespace: SYSTEM_NAMESPACE })).items.filter((claim) =>
    JSON.stringify(claim.spec).includes(`"${prefix}-`),
  );
  return [
    ...found,
    ...claims.map((object) => ({ ref: Claim as unknown as ResourceRef, object: object as KubeObject })),
  ];
}

/** Without what the API server adds. */
function asWritten(object: KubeObject): KubeObject {
  const { status: _, spec, ...content } = object as KubeObject & { status?: unknown; spec?: Record<string, unknown> };
  if (!spec) return content;
  const { clusterIP: __, clusterIPs: ___, ...kept } = spec;
  return { ...content, spec: kept } as KubeObject;
}

/** Objects that `makeApps` creates, as `kubectl` would: the platform gives these their labels and owners afterwards. */
const MADE_BY_CALLER: ReadonlySet<string> = new Set([App.kind, Droplet.kind, Route.kind]);

interface Writers {
  /** Whoever makes the apps. */
  admin: KubeClient;
  /** With the platform's identity. */
  platform: KubeClient;
}

/**
 * Writes them all into namespaces of its own, as a controller would that knows everything beforehand: each object once, its status once, and once what an
 * object of the caller gets afterwards. Like any controller it watches each kind. Milliseconds, and the number of writes. No platform may run meanwhile: it
 * would take them for its own.
 */
export async function writeBaseline(
  writers: Writers,
  final: readonly FinalObject[],
  suffix: string,
): Promise<{ ms: number; writes: number }> {
  const namespaces = [...new Set(final.map(({ object }) => object.metadata.namespace ?? ""))].filter(
    (namespace) => namespace !== SYSTEM_NAMESPACE,
  );
  for (const namespace of namespaces)
    await writers.admin.create(Namespace, {
      metadata: { name: `${namespace}-${suffix}`, labels: { [LABELS.namespaceKind]: "space" } },
    });
  const unwatch = await watchAll(writers.platform, [...new Set(final.map(({ ref }) => ref))]);
  const limit = pLimit(PARALLEL);
  const start = performance.now();
  const writes = await Promise.all(final.map((one) => limit(() => writeOnce(writers, one, suffix))));
  const ms = performance.now() - start;
  unwatch();
  return { ms, writes: writes.reduce((sum, count) => sum + count, 0) };
}

/** A watch for each kind, which starts now and whose events are dropped. Resolves when the server has accepted them. */
async function watchAll(client: KubeClient, refs: readonly ResourceRef[]): Promise<() => void> {
  const ended = new AbortController();
  const drop = async (ref: ResourceRef, onOpen: () => void): Promise<void> => {
    const { metadata } = await client.list(ref, { limit: 1 });
    const from = { resourceVersion: metadata.resourceVersion ?? "" };
    const events = client.watch(ref, { ...from, signal: ended.signal, onOpen })[Symbol.asyncIterator]();
    while (!(await events.next()).done);
  };
  await Promise.all(
    refs.map(
      (ref) =>
        new Promise<void>((resolve, reject) => {
          drop(ref, resolve).catch((error: unknown) => !ended.signal.aborted && reject(error as Error));
        }),
    ),
  );
  return () => ended.abort();
}

async function writeOnce(writers: Writers, { ref, object }: FinalObject, suffix: string): Promise<number> {
  const { status, ...content } = object as KubeObject & { status?: unknown };
  const { made, writes } = await createOnce(writers, { ref, object: content }, suffix);
  // A status that is a default of the CRD is nobody's write.
  if (status === undefined || isDeepStrictEqual(made["status"], status)) return writes;
  await writers.platform.updateStatus(ref, { ...made, status });
  return writes + 1;
}

/** Creates it; if it is the caller's, without labels and annotations, which the platform adds. */
async function createOnce(
  { admin, platform }: Writers,
  { ref, object }: FinalObject,
  suffix: string,
): Promise<{ made: KubeObject; writes: number }> {
  const { labels, annotations } = object.metadata;
  const metadata = { ...(labels && { labels }), ...(annotations && { annotations }) };
  const key = placeOf(object, suffix);
  if (!MADE_BY_CALLER.has(ref.kind))
    return { made: await platform.create(ref, { ...object, metadata: { ...key, ...metadata } }), writes: 1 };
  const made = await admin.create(ref, { ...object, metadata: key });
  if (Object.keys(metadata).length === 0) return { made, writes: 1 };
  return { made: await platform.patch(ref, key, { type: "merge", body: { metadata } }), writes: 2 };
}

/** In a namespace of the baseline's own; the system's objects have another name. */
function placeOf({ metadata: { name, namespace = "" } }: KubeObject, suffix: string): Required<ObjectKey> {
  return namespace === SYSTEM_NAMESPACE
    ? { name: `${name}-${suffix}`, namespace }
    : { name, namespace: `${namespace}-${suffix}` };
}

/** Removes what `writeFloor` wrote, so that no platform sees it. */
export async function removeBaseline(admin: KubeClient, final: readonly FinalObject[], suffix: string): Promise<void> {
  const limit = pLimit(PARALLEL);
  await Promise.all(final.map(({ ref, object }) => limit(() => admin.delete(ref, placeOf(object, suffix)))));
}
