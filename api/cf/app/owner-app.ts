// The app that an object belongs to: its reference, index key, owner references and name.
import { App } from "../../../crds/app/app.ts";
import { newGUID } from "../../../crds/guid.ts";
import { LABELS } from "../../../crds/labels.ts";
import type { KubeObject, OwnerReference } from "../../../kube/api/object.ts";
import { apiVersionOf } from "../../../kube/api/resource-ref.ts";
import type { Draft } from "../../../kube/client/client.ts";
import type { ClusterCache, ObjectFinder } from "../../cache/cluster-cache.ts";
import { CFError } from "../../http/errors.ts";
import type { Session } from "../../access/session.ts";
import { metadataForCreate, type MetadataInput } from "../../http/metadata.ts";

/** A key, which is a binding without an app, too. */
type AppChild = KubeObject & { spec: { appRef?: { name: string } | undefined } };

/** The app of an object that belongs to one; undefined when the reference dangles. */
export function appOf(cache: ObjectFinder, { metadata, spec }: AppChild): App | undefined {
  return spec.appRef && cache.store(App).find({ namespace: metadata.namespace ?? "", name: spec.appRef.name });
}

/** GUID of the app that an object belongs to; "" when the reference dangles. */
export function appGUIDOf(cache: ClusterCache, child: AppChild): string {
  const app = appOf(cache, child);
  return app ? cache.guid(App, app) : "";
}

/** Key of the `app` index, which lists the objects of an app. */
export function appKey(app: App): string {
  return `${app.metadata.namespace}/${app.metadata.name}`;
}

/** Owner reference to an app: Kubernetes garbage-collects the object with the app. */
export function appOwnerReferences(app: App): OwnerReference[] {
  return [{ apiVersion: apiVersionOf(App), kind: App.kind, name: app.metadata.name, uid: app.metadata.uid ?? "" }];
}

/** The app that a request body names. @throws CFError 422 when the caller does not see it */
export function resolveApp(session: Session, guid: string): App {
  const app = session.find(App, guid);
  if (!app) throw new CFError("UnprocessableEntity", "App is invalid. Ensure it exists and you have access to it.");
  return app;
}

/** The metadata of a new object of an app that users do not name: a package, build, droplet or deployment. */
export function newChildMetadata(cache: ClusterCache, app: App, metadata?: MetadataInput): Draft["metadata"] {
  const guid = newGUID();
  const { labels, annotations } = metadataForCreate(metadata);
  return {
    name: nameFromGUID(app, guid),
    namespace: app.metadata.namespace,
    // As their controllers would label them, which then have nothing to write before their own work.
    labels: { ...labels, [LABELS.guid]: guid, [LABELS.app]: cache.guid(App, app) },
    annotations,
    ownerReferences: appOwnerReferences(app),
  };
}

/** A short, unique object name, derived from the GUID, for objects that users do not name. */
export function nameFromGUID(app: App, guid: string): string {
  return `${app.metadata.name.slice(0, 28).replace(/-+$/, "")}-${guid.replaceAll("-", "").slice(-20)}`;
}
