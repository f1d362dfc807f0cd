// Installs what the platform needs in a cluster before it starts: kinds, roles, policies and feature flags.
import { setTimeout as delay } from "node:timers/promises";
import { resourcePath } from "../kube/api/resource-ref.ts";
import type { ResourceRef } from "../kube/api/resource-ref.ts";
import {
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  CustomResourceDefinition,
  Namespace,
  RoleBinding,
  Secret,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "../kube/api/builtin.ts";
import { isConflict } from "../kube/client/errors.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { KubeObject } from "../kube/api/object.ts";
import { DEFINITIONS } from "../crds/definitions.ts";
import { PolicyTemplate } from "../crds/policy-template/policy-template.ts";
import { listManifests } from "../crds/manifests.ts";

const INSTALL_FIELD_MANAGER = "cupola-install";
const DEADLINE_MS = 30_000;

const REFS = new Map<string, ResourceRef>(
  [
    ClusterRole,
    ClusterRoleBinding,
    ConfigMap,
    CustomResourceDefinition,
    Namespace,
    RoleBinding,
    Secret,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ...DEFINITIONS,
  ].map((ref) => [ref.kind, ref]),
);

/** Applies the generated manifests and waits until our kinds are served. Idempotent. @throws KubeError, or Error when a kind is not served in 30 s. */
export async function installManifests(client: KubeClient): Promise<void> {
  const manifests = listManifests().filter(({ clusterOnly }) => !clusterOnly);
  const [crds, rest] = partitionCRDs(manifests.flatMap((manifest) => manifest.objects));
  await Promise.all(crds.map((object) => applyObject(client, object)));
  await Promise.all(DEFINITIONS.map((definition) => waitUntilServed(client, definition)));
  await applyObjects(client, rest);
}

function partitionCRDs(objects: KubeObject[]): [crds: KubeObject[], rest: KubeObject[]] {
  const isCrd = (object: KubeObject): boolean => object.kind === CustomResourceDefinition.kind;
  return [objects.filter(isCrd), objects.filter((object) => !isCrd(object))];
}

/** Applies objects one after the other, so that a namespace exists before its objects. */
export async function applyObjects(client: KubeClient, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) await applyObject(client, object);
}

async function applyObject(client: KubeClient, object: KubeObject): Promise<void> {
  try {
    const force = object.kind !== PolicyTemplate.kind;
    await client.apply(getRef(object), object, { fieldManager: INSTALL_FIELD_MANAGER, force });
  } catch (error) {
    // A shipped template that an operator has changed stays as it is.
    if (object.kind !== PolicyTemplate.kind || !isConflict(error)) throw error;
  }
}

function getRef({ kind }: KubeObject): ResourceRef {
  const ref = REFS.get(kind);
  if (!ref) throw new Error(`install does not know the kind ${kind}`);
  return ref;
}

/** A kind is served a moment after its CRD is accepted. @throws Error when it is not served in 30 s */
export async function waitUntilServed(client: KubeClient, ref: ResourceRef): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    try {
      await client.raw("GET", `${resourcePath(ref)}?limit=1`);
      return;
    } catch (cause) {
      if (Date.now() > deadline) throw new Error(`the API server does not serve ${ref.plural}.${ref.group}`, { cause });
      await delay(25);
    }
  }
}
