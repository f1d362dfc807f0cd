// What belongs to an App (processes, packages, builds, droplets): found by label, collected by owner reference, whoever made it.
import { App } from "../crds/app/app.ts";
import { LABELS } from "../crds/labels.ts";
import { type KubeClient } from "../kube/client/client.ts";
import { NotReady } from "../kube/controller.ts";
import { type KubeObject, type OwnerReference } from "../kube/object.ts";
import { type Reader } from "../kube/reader.ts";
import { apiVersionOf, type ResourceRef } from "../kube/resource-ref.ts";

/** Name of the index on parts of apps: `namespace/app`. */
export const APP_INDEX = "app";

type AppPart = KubeObject & { spec: { appRef: { name: string } } };

export function appKey(namespace: string | undefined, app: string): string {
  return `${namespace ?? ""}/${app}`;
}

/** The index function behind `APP_INDEX`. */
export function byApp(part: AppPart): readonly string[] {
  return [appKey(part.metadata.namespace, part.spec.appRef.name)];
}

/** Wakes the parts of an app. */
export function partsOf(app: App): Record<string, string> {
  return { [APP_INDEX]: appKey(app.metadata.namespace, app.metadata.name) };
}

/** @throws NotReady("AppMissing"): a dangling reference heals when the name appears */
export function getApp(read: Reader, part: AppPart): App {
  const app = read.find(App, { namespace: part.metadata.namespace, name: part.spec.appRef.name });
  if (!app) throw new NotReady("AppMissing", `app ${part.spec.appRef.name} does not exist in this namespace`);
  return app;
}

export function ownerReferenceTo(app: App): OwnerReference {
  return { apiVersion: apiVersionOf(App), kind: App.kind, name: app.metadata.name, uid: app.metadata.uid ?? "" };
}

/** Makes the app an owner of its part, so that it goes with the app whoever made it. One write, once. */
export async function adopt<T extends AppPart>(client: KubeClient, ref: ResourceRef<T>, part: T, app: App): Promise<void> {
  const owners = part.metadata.ownerReferences ?? [];
  if (owners.some((owner) => owner.uid === app.metadata.uid)) return;
  const stale = (owner: OwnerReference): boolean => owner.kind === App.kind && owner.apiVersion === apiVersionOf(App);
  const ownerReferences = [...owners.filter((owner) => !stale(owner)), ownerReferenceTo(app)];
  const { resourceVersion, uid } = part.metadata;
  await client.patch(ref, part.metadata, { type: "merge", body: { metadata: { resourceVersion, uid, ownerReferences } } });
}

export function appLabel(guid: string): Record<string, string> {
  return { [LABELS.app]: guid };
}
