// The objects of an App (processes, packages, builds, droplets): found by label and garbage-collected by owner reference.
import { App } from "../../crds/app/app.ts";
import { LABELS } from "../../crds/labels.ts";
import { NotReady, type ReconcileResult } from "../../kube/controller/controller.ts";
import type { KubeObject, OwnerReference } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { apiVersionOf, type ResourceRef } from "../../kube/api/resource-ref.ts";

/** Index of the objects of apps; its values are `namespace/app`. */
export const OWNING_APP_INDEX = "controllers/owning-app";

type AppOwned = KubeObject & { spec: { appRef: { name: string } } };
/** Also a binding, which a key without an app may be. */
type PerhapsAppOwned = KubeObject & { spec: { appRef?: { name: string } | undefined } };

export function appKey(namespace: string | undefined, app: string): string {
  return `${namespace ?? ""}/${app}`;
}

/** The index function of `OWNING_APP_INDEX`. */
export function indexByApp({ metadata, spec }: PerhapsAppOwned): readonly string[] {
  return spec.appRef ? [appKey(metadata.namespace, spec.appRef.name)] : [];
}

/** Enqueues the objects of an app. */
export function mapAppToOwned(app: App): Record<string, string> {
  return { [OWNING_APP_INDEX]: appKey(app.metadata.namespace, app.metadata.name) };
}

/** @throws NotReady("AppMissing"): the object is reconciled again when an app of that name appears */
export function getApp(read: Reader, object: AppOwned): App {
  const app = read.find(App, { namespace: object.metadata.namespace, name: object.spec.appRef.name });
  if (!app) throw new NotReady("AppMissing", `app ${object.spec.appRef.name} does not exist in this namespace`);
  return app;
}

/** @param definition of the owner, which as an item of a list may not say its kind */
export function toOwnerReference(owner: KubeObject, definition: ResourceRef = App): OwnerReference {
  const { name, uid = "" } = owner.metadata;
  return { apiVersion: apiVersionOf(definition), kind: definition.kind, name, uid };
}

/** The label and owner reference of every object of an app, whoever created it. */
export function toAppOwnership(
  app: App,
  appGUID: string,
  labels: Readonly<Record<string, string>>,
): Required<Pick<ReconcileResult, "labels" | "ownerReferences">> {
  return { labels: { ...labels, [LABELS.app]: appGUID }, ownerReferences: [toOwnerReference(app)] };
}

/** Objects that are not being deleted. */
export function withoutDeleting<T extends KubeObject>(objects: readonly T[]): T[] {
  return objects.filter(({ metadata }) => !metadata.deletionTimestamp);
}
