// The Secrets that an LRP or a TaskRun names, for the cluster on which it is made: these and no others, and only there.
import type { EnvVar } from "../../crds/schema-fields.ts";
import { Secret } from "../../kube/api/builtin.ts";
import { apiVersionOf, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";
import { NotReady, type ReconcileContext, type ReconcileResult } from "../../kube/controller/controller.ts";

/** Names of the Secrets that the variables of an LRP or a TaskRun and the files of its services refer to. Pure. */
export function secretsOf(lrp: Draft): string[] {
  const { env = [], serviceFiles } = lrp["spec"] as {
    env?: readonly EnvVar[];
    serviceFiles?: { secretRef: { name: string } };
  };
  const names = [
    ...env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef.name ?? []),
    ...(serviceFiles ? [serviceFiles.secretRef.name] : []),
  ];
  return [...new Set(names)].toSorted();
}

/** Adds the Secrets of children that a cluster does not have yet. None ever changes its variables. @throws NotReady when a Secret is missing here */
export async function withSecrets(
  result: ReconcileResult,
  child: ResourceRef,
  { clusters, client }: Pick<ReconcileContext, "clusters" | "client">,
): Promise<ReconcileResult> {
  const { remote } = result;
  if (!remote) return result;
  const ensured: Record<string, readonly Draft[]> = { ...remote.ensured };
  for (const [name, drafts] of Object.entries(remote.children)) {
    const known = new Set(
      clusters
        .find(name)
        ?.listOwned(child, remote.owner)
        .map(({ metadata }) => metadata.name),
    );
    const made = drafts.filter(({ metadata }) => !known.has(metadata.name ?? ""));
    const keys = made.flatMap((draft) =>
      secretsOf(draft).map((secret) => ({ namespace: draft.metadata.namespace ?? "", name: secret })),
    );
    const copies = await Promise.all(keys.map((key) => copySecret(key, remote.owner, { clusters, client })));
    if (copies.length > 0) ensured[name] = [...(ensured[name] ?? []), ...copies];
  }
  return { ...result, remote: { ...remote, ensured } };
}

async function copySecret(
  key: { namespace: string; name: string },
  owner: string,
  { clusters: { markers }, client }: Pick<ReconcileContext, "clusters" | "client">,
): Promise<Draft> {
  const secret = await client.find(Secret, key);
  if (!secret || !markers)
    throw new NotReady("SecretMissing", `Secret ${key.name} of the app's variables does not exist; restart the app`, {
      isFailure: true,
    });
  return {
    apiVersion: apiVersionOf(Secret),
    kind: Secret.kind,
    metadata: { ...key, labels: { [markers.hubLabel]: markers.hub, [markers.ownerLabel]: owner } },
    ...(secret.type !== undefined && { type: secret.type }),
    data: secret.data ?? {},
    immutable: true,
  };
}
