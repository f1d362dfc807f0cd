// What belongs to an App (processes, packages, builds, droplets): found by label, collected by owner reference, whoever made it.
import { App } from "../../crds/app/app.ts";
import { LABELS } from "../../crds/labels.ts";
import { NotReady, type ReconcileResult } from "../../kube/controller/controller.ts";
import type { KubeObject, OwnerReference } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";

/** Name of the index on parts of apps: `namespace/app`. */
export const APP_INDEX = "part/app";

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

/** What makes an object a part of its app, whoever made it: found by label, collected by owner reference. */
export function belonging(app: App, appGUID: string, labels: Readonly<Record<string, string>>): Required<Pick<ReconcileResult, "labels" | "ownerReferences">> {
  return { labels: { ...labels, [LABELS.app]: appGUID }, ownerReferences: [ownerReferenceTo(app)] };
}

/** Whether the app's controller has spoken of the app as it is now. */
export function isAnswered({ metadata, status }: App): boolean {
  return status?.observedGeneration === metadata.generation;
}
