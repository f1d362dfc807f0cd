// Objects that belong to an app: its processes and current droplet, and helpers to create and present such objects.
import { App } from "../../../crds/app/app.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { creationSortKey } from "../../../crds/guid.ts";
import { Process } from "../../../crds/process/process.ts";
import { processName } from "../../../crds/process/defaults.ts";
import type { Draft } from "../../../kube/client/client.ts";
import type { KubeObject, OwnerReference } from "../../../kube/api/object.ts";
import { apiVersionOf } from "../../../kube/api/resource-ref.ts";
import { CFError, notFound } from "../../http/errors.ts";
import { withoutNulls } from "../without-nulls.ts";
import type { Session } from "../../access/session.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";

type AppChild = KubeObject & { spec: { appRef: { name: string } } };

/** The app of an object that belongs to one; undefined when the reference dangles. */
export function appOf(cache: ClusterCache, child: AppChild): App | undefined {
  return cache.store(App).find({ namespace: child.metadata.namespace ?? "", name: child.spec.appRef.name });
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

/** An app's processes: web first, then oldest first. */
export function processesOf(session: Session, app: App): Process[] {
  const order = (process: Process): string => `${process.spec.type === "web" ? 0 : 1} ${creationSortKey(process)}`;
  return session
    .list(Process, { index: ["app", appKey(app)] })
    .sort((one, other) => (order(one) < order(other) ? -1 : 1));
}

/** GUID of a process; the default web process has its app's. */
export function processGUID(cache: ClusterCache, process: Process): string {
  const own = cache.guid(Process, process);
  return process.spec.type === "web" && own === process.metadata.uid ? appGUIDOf(cache, process) || own : own;
}

/** @throws CFError `Process not found` */
export function getProcess(session: Session, guid: string): Process {
  const direct = session.find(Process, guid);
  if (direct) return direct;
  const app = session.find(App, guid);
  const web = app && processesOf(session, app).find((process) => process.spec.type === "web");
  if (!web) throw notFound("Process");
  return web;
}

/** @throws CFError `Process not found` */
export function getProcessOfType(session: Session, app: App, type: string): Process {
  const found = processesOf(session, app).find((process) => process.spec.type === type);
  if (!found) throw notFound("Process");
  return found;
}

/** The droplet that an app will run at its next start, if it exists. */
export function currentDroplet(cache: ClusterCache, app: App): Droplet | undefined {
  const { droplet } = app.spec;
  return droplet && cache.store(Droplet).find({ namespace: app.metadata.namespace ?? "", name: droplet.name });
}

/** A Process to create. The web process gets no GUID of its own. */
export function newProcess(
  app: App,
  type: string,
  more: { spec?: object; labels?: Record<string, string> } = {},
): Draft {
  return {
    metadata: {
      name: processName(app.metadata.name, type),
      namespace: app.metadata.namespace,
      labels: more.labels ?? {},
      ownerReferences: appOwnerReferences(app),
    },
    spec: { ...more.spec, appRef: { name: app.metadata.name }, type },
  };
}

/** Creates a process, or patches the existing one, which a controller may have just created. */
export async function createOrPatchProcess(
  session: Session,
  app: App,
  type: string,
  spec: Record<string, unknown>,
): Promise<Process> {
  const known = processesOf(session, app).find((process) => process.spec.type === type);
  if (known)
    return Object.keys(spec).length === 0 ? known : session.patch(Process, known, { type: "merge", body: { spec } });
  const draft = newProcess(app, type, { spec: withoutNulls(spec) });
  try {
    return await session.create(Process, draft, processTakenError);
  } catch (error) {
    if (!(error instanceof CFError && error.key === "UniquenessError")) throw error;
    return session.patch(Process, draft as unknown as Process, { type: "merge", body: { spec } });
  }
}

function processTakenError(): CFError {
  return new CFError("UniquenessError", "The process exists already.");
}

/** The app that a request body names. @throws CFError 422 when the caller does not see it */
export function resolveApp(session: Session, guid: string): App {
  const app = session.find(App, guid);
  if (!app) throw new CFError("UnprocessableEntity", "App is invalid. Ensure it exists and you have access to it.");
  return app;
}

/** Sort key for newest first. */
export function sortNewestFirst<T extends KubeObject>(objects: readonly T[]): T[] {
  return [...objects].sort((one, other) => (creationSortKey(one) > creationSortKey(other) ? -1 : 1));
}

/** A short, unique object name, derived from the GUID, for objects that users do not name. */
export function nameFromGUID(app: App, guid: string): string {
  return `${app.metadata.name.slice(0, 28).replace(/-+$/, "")}-${guid.replaceAll("-", "").slice(-20)}`;
}
