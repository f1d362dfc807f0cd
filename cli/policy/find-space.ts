// The namespace of the targeted space, and the labels that constraints match by.
import { Namespace } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isForbidden, isNotFound } from "../../kube/client/errors.ts";
import { guidOf } from "../../crds/guid.ts";
import { STABLE_LABELS } from "../../crds/labels.ts";
import { objectNameFor } from "../../crds/object-names.ts";
import { toNamespaceLabels } from "../../crds/space/namespace-labels.ts";
import { Space } from "../../crds/space/space.ts";
import type { Context } from "../context.ts";
import type { Surroundings } from "./places.ts";

/** Undefined when this user may read neither the namespaces nor the Space. @throws Failure (target) */
export async function findSpace(
  kube: KubeClient,
  context: Pick<Context, "api" | "org" | "space">,
): Promise<Surroundings | undefined> {
  const { guid } = await context.space();
  return (await findNamespace(kube, guid)) ?? findByName(kube, context);
}

/** For those who may list namespaces. */
async function findNamespace(kube: KubeClient, guid: string): Promise<Surroundings | undefined> {
  try {
    const { items } = await kube.list(Namespace, { labelSelector: `${STABLE_LABELS.space}=${guid}` });
    const [found] = items;
    return found && { namespace: found.metadata.name, labels: found.metadata.labels ?? {} };
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/** Members of a space may read its Space. Its object name follows from the CF name, unless that name was taken or changed. */
async function findByName(
  kube: KubeClient,
  { api, org, space }: Pick<Context, "api" | "org" | "space">,
): Promise<Surroundings | undefined> {
  const [ofOrg, ofSpace] = [await org(), await space()];
  const orgName = objectNameFor(ofOrg.name, "org");
  const key = { namespace: orgName, name: objectNameFor(ofSpace.name, "space") };
  const found = await kube.find(Space, key).catch((error: unknown) => {
    if (isForbidden(error) || isNotFound(error)) return undefined;
    throw error;
  });
  if (!found || guidOf(found) !== ofSpace.guid || !found.status?.namespace) return undefined;
  const { metadata } = await api.request<{ metadata: { labels?: Record<string, string> } }>(
    "GET",
    `/v3/organizations/${ofOrg.guid}`,
  );
  const labels = toNamespaceLabels({ org: { name: orgName, labels: metadata.labels }, space: found.metadata });
  return { namespace: found.status.namespace, labels };
}

/** Labels of the namespaces that this user may read. */
export async function readNamespaces(
  kube: KubeClient,
  names: Iterable<string>,
): Promise<ReadonlyMap<string, Record<string, string>>> {
  const found = new Map<string, Record<string, string>>();
  for (const name of names) {
    const namespace = await kube.find(Namespace, { name }).catch((error: unknown) => {
      if (isForbidden(error)) return undefined;
      throw error;
    });
    if (namespace) found.set(name, namespace.metadata.labels ?? {});
  }
  return found;
}
