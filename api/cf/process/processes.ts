// Finds the processes of an app, by GUID or type.
import { App } from "../../../crds/app/app.ts";
import { creationSortKey, guidOf } from "../../../crds/guid.ts";
import { Process } from "../../../crds/process/process.ts";
import { Rollout } from "../../../crds/rollout/rollout.ts";
import type { Session } from "../../access/session.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { deploymentStatus } from "../rollout/app-rollouts.ts";
import { toVersions } from "./web-processes.ts";
import { notFound } from "../../http/errors.ts";
import { appGUIDOf, appKey, appOf } from "../app/owner-app.ts";

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
  const found = app ? findOfType(session, app, "web") : findVersion(session, guid);
  if (!found) throw notFound("Process");
  return found;
}

/** @throws CFError `Process not found` */
export function getProcessOfType(session: Session, app: App, type: string): Process {
  const found = findOfType(session, app, type);
  if (!found) throw notFound("Process");
  return found;
}

function findOfType(session: Session, app: App, type: string): Process | undefined {
  const process = processesOf(session, app).find(({ spec }) => spec.type === type);
  return process && toVersions(session.cache, process)[0];
}

/** The version of a web process that a Rollout starts; once the app runs it alone, or is stopped, the web process itself: clients still ask by that GUID. */
function findVersion(session: Session, guid: string): Process | undefined {
  const { cache } = session;
  const rollout = cache.store(Rollout).byIndex("process", guid)[0];
  const app = rollout && appOf(cache, rollout);
  const web =
    app && session.canSee(App, app) ? processesOf(session, app).find(({ spec }) => spec.type === "web") : undefined;
  if (!rollout || !web) return undefined;
  const [standing, ...newer] = toVersions(cache, web);
  const isGone = deploymentStatus(cache, rollout).state === "CANCELED";
  return newer.find((version) => guidOf(version) === guid) ?? (isGone ? undefined : standing);
}
