// Keeps the LRPs of a Process: one at the app's revision in force, and the one before until that is ready.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Route } from "../../crds/route/route.ts";
import { routeURL } from "../../crds/route/route-url.ts";
import { LABELS } from "../../crds/labels.ts";
import { creationOrder } from "../../crds/guid.ts";
import { defineController, NotReady, watch, type Controller, type ReconcileContext, type ReconcileResult } from "../../kube/controller/controller.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { APP_INDEX, belonging, byApp, getApp, isAnswered, partsOf } from "../shared/app-owned.ts";
import { byGUID, GUID_INDEX, settleGUID } from "../shared/identity.ts";
import { findDomain, getPlace, PLACE_READS, type Place } from "../shared/tenancy.ts";
import { lrpName, planLRP } from "./lrp.ts";
import { planNothing, planVersions, wantedInstances } from "./plan.ts";

export interface ProcessOptions {
  /** The address of the CF API, for VCAP_APPLICATION. */
  apiURL: string;
}

export function processController({ apiURL }: ProcessOptions): Controller {
  return defineController({
    name: "process",
    for: Process,
    owns: [LRP],
    reads: [...PLACE_READS, BackendClass, Domain, Droplet, Route],
    indexes: { [GUID_INDEX]: byGUID, [APP_INDEX]: byApp },
    watches: [watch(App, partsOf), watch(Revision, (revision) => ({ [APP_INDEX]: byApp(revision)[0] ?? "" }))],

    async reconcile(process, context) {
      const { read } = context;
      const app = getApp(read, process);
      const appGUID = settleGUID(App, app, context).guid;
      const { guid, labels } = identify(process, appGUID, context);
      return { ...versionsOf(process, app, { guid, appGUID, apiURL, read }), ...belonging(app, appGUID, labels) };
    },
  });
}

/** The standing web process carries no GUID of its own: it presents its app's. So no process has an app's GUID for its own. */
function identify(process: Process, appGUID: string, context: ReconcileContext): { guid: string; labels: Record<string, string> } {
  return process.spec.type === "web" ? { guid: appGUID, labels: {} } : settleGUID(Process, process, context, [App]);
}

interface Sight {
  guid: string;
  appGUID: string;
  apiURL: string;
  read: Reader;
}

function versionsOf(process: Process, app: App, sight: Sight): ReconcileResult {
  if (app.spec.state === "Stopped") return planNothing("Stopped");
  const inForce = app.status?.revision;
  if (inForce === undefined) return waitFor(app);
  if (wantedInstances(process) === 0) return planNothing("NoInstances");
  const revision = sight.read.find(Revision, { namespace: app.metadata.namespace, name: inForce });
  // Mostly the cache is just behind the App's; one that really is gone is made anew by the app's controller.
  if (!revision) return { silent: true };
  const name = lrpName(process, revision);
  const existing = existingOf(process, sight.read);
  if (existing.some((lrp) => lrp.metadata.name === name && lrp.metadata.deletionTimestamp)) {
    throw new NotReady("Stopping", "the instances of the stopped version are still ending");
  }
  return planVersions(process, { name, existing: existing.filter((lrp) => !lrp.metadata.deletionTimestamp), make: (instances) => make(process, app, { ...sight, revision, instances }) });
}

/** No LRP is touched. While the app's controller has not looked at its start yet there is nothing new to say. */
function waitFor(app: App): ReconcileResult {
  if (!isAnswered(app)) return { silent: true };
  return { ready: { status: "False", reason: "NoRevision", message: `app ${app.metadata.name} has not started yet: its Ready condition says why` } };
}

function existingOf(process: Process, read: Reader): LRP[] {
  return read.list(LRP, { namespace: process.metadata.namespace, labels: { [LABELS.ownerUid]: process.metadata.uid ?? "" } });
}

/** @throws NotReady while something that the LRP is made from is missing */
function make(process: Process, app: App, { guid, appGUID, apiURL, read, revision, instances }: Sight & { revision: Revision; instances: number }): Draft {
  const { namespace } = process.metadata;
  const snapshot = revision.spec.processes.find((candidate) => candidate.type === process.spec.type);
  if (!snapshot) throw new NotReady("NotInRevision", `revision ${revision.spec.version} has no process ${process.spec.type}; it starts with the app's next restart`);
  const droplet = read.find(Droplet, { namespace, name: revision.spec.dropletRef.name });
  if (!droplet) throw new NotReady("DropletMissing", `droplet ${revision.spec.dropletRef.name} of revision ${revision.spec.version} does not exist`);
  const place = getPlace(read, namespace ?? "");
  const rendering = read.find(BackendClass, { name: snapshot.runner })?.status?.capabilities?.["rendering"] ?? "1";
  const named = { guid: appGUID, name: displayNameOf(app), object: app.metadata.name };
  return planLRP({ process, processGUID: guid, app: named, place, revision, snapshot, droplet, apiURL, uris: urisOf(process, place, read), rendering }, instances);
}

/** URLs of the routes mapped to this process, oldest first. */
function urisOf(process: Process, place: Place, read: Reader): string[] {
  const { appRef, type } = process.spec;
  return read
    .list(Route, { namespace: process.metadata.namespace })
    .filter((route) => route.spec.destinations.some((destination) => destination.app === appRef.name && destination.process === type))
    .toSorted((a, b) => (creationOrder(a) < creationOrder(b) ? -1 : 1))
    .flatMap((route) => {
      const domain = findDomain(read, route, place);
      return domain ? [routeURL(route.spec, domain.spec.name)] : [];
    });
}
