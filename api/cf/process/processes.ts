// Finds the processes of an app, by GUID or type.
import { App } from "../../../crds/app/app.ts";
import { creationSortKey } from "../../../crds/guid.ts";
import { Process } from "../../../crds/process/process.ts";
import type { Session } from "../../access/session.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { notFound } from "../../http/errors.ts";
import { appGUIDOf, appKey } from "../app/owner-app.ts";

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
