// The floor of writing: what the platform made of some apps, written again elsewhere by a loop that does nothing else, each object once and its status once.
import { isDeepStrictEqual } from "node:util";
import pLimit from "p-limit";
import { Claim } from "../../../crds/claim/claim.ts";
import { DEFINITIONS } from "../../../crds/definitions.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Deployment, Ingress, Namespace, Secret, Service } from "../../../kube/api/builtin.ts";
import type { Draft, KubeClient } from "../../../kube/client/client.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { PARALLEL } from "./make-apps.ts";

export interface FinalObject {
  ref: ResourceRef;
  object: KubeObject;
}

/** What the runner and the router make. Their statuses are Kubernetes' own. */
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

/** Writes them all into namespaces of its own. Milliseconds, and the number of writes. No platform may run meanwhile: it would take them for its own. */
export async function writeBaseline(
  admin: KubeClient,
  final: readonly FinalObject[],
  suffix: string,
): Promise<{ ms: number; writes: number }> {
  const namespaces = [...new Set(final.map(({ object }) => object.metadata.namespace ?? ""))].filter(
    (namespace) => namespace !== SYSTEM_NAMESPACE,
  );
  for (const namespace of namespaces) await admin.create(Namespace, { metadata: { name: `${namespace}-${suffix}` } });
  const limit = pLimit(PARALLEL);
  const start = performance.now();
  const writes = await Promise.all(final.map((one) => limit(() => writeOnce(admin, one, suffix))));
  const ms = performance.now() - start;
  return { ms, writes: writes.reduce((sum, count) => sum + count, 0) };
}

async function writeOnce(admin: KubeClient, { ref, object }: FinalObject, suffix: string): Promise<number> {
  const { name, namespace = "", labels, annotations } = object.metadata;
  const inSystem = namespace === SYSTEM_NAMESPACE;
  const { status, ...content } = object as KubeObject & { status?: unknown };
  const draft: Draft = {
    ...content,
    metadata: {
      name: inSystem ? `${name}-${suffix}` : name,
      namespace: inSystem ? namespace : `${namespace}-${suffix}`,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    },
  };
  const made = await admin.create(ref, draft);
  // A status that is a default of the CRD is nobody's write.
  if (status === undefined || isDeepStrictEqual(made["status"], status)) return 1;
  await admin.updateStatus(ref, { ...made, status });
  return 2;
}

/** Removes what `writeFloor` wrote, so that no platform sees it. */
export async function removeBaseline(admin: KubeClient, final: readonly FinalObject[], suffix: string): Promise<void> {
  const limit = pLimit(PARALLEL);
  await Promise.all(
    final.map(({ ref, object: { metadata } }) =>
      limit(async () => {
        const inSystem = metadata.namespace === SYSTEM_NAMESPACE;
        await admin.delete(
          ref,
          inSystem
            ? { namespace: SYSTEM_NAMESPACE, name: `${metadata.name}-${suffix}` }
            : { namespace: `${metadata.namespace ?? ""}-${suffix}`, name: metadata.name },
        );
      }),
    ),
  );
}
