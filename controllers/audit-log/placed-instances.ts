// The instances of a process on other clusters, as its decision mirrors them, for audit events. Reads what a decision does not say.
import { App } from "../../crds/app/app.ts";
import type { AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import type { PlacedLRP, PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../crds/process/process.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { findTenancy } from "../shared/tenancy.ts";
import type { ObservedLRP } from "./instance-events.ts";

const UNNAMED = { guid: "", name: "" };

/** LRPs on other clusters that both have, as before and after a change. A cluster that does not answer says nothing. */
export function listPlacedChanges(old: PlacementDecision, decision: PlacementDecision): [ObservedLRP, ObservedLRP][] {
  const before = new Map((old.status?.clusters ?? []).map((one) => [keyOf(one), one]));
  return (decision.status?.clusters ?? []).flatMap((placed): [ObservedLRP, ObservedLRP][] => {
    const was = before.get(keyOf(placed));
    if (!was || placed.name === LOCAL_CLUSTER || placed.unreachableSince !== undefined) return [];
    return [[toObserved(old, was), toObserved(decision, placed)]];
  });
}

function keyOf({ name, lrp }: PlacedLRP): string {
  return `${name}/${lrp}`;
}

/** Its names are left out: placeEvents adds them. */
function toObserved({ metadata, spec }: PlacementDecision, placed: PlacedLRP): ObservedLRP {
  return {
    metadata: {
      uid: `${metadata.uid}/${keyOf(placed)}`,
      ...(metadata.resourceVersion !== undefined && { resourceVersion: metadata.resourceVersion }),
      ...(placed.deleting && { deletionTimestamp: "terminating" }),
    },
    spec: {
      app: { guid: spec.app, name: "" },
      space: UNNAMED,
      org: UNNAMED,
      processGUID: placed.processGUID,
      processType: spec.processType,
      version: placed.version ?? "",
      instances: placed.wanted,
      ...(placed.indexes && { indexes: placed.indexes }),
      readinessHealthCheck: { type: placed.readinessCheck ?? "process" },
    },
    status: { instances: placed.instances },
  };
}

/** Events of a decision's instances with the names of their app, space and org. None while one of these is missing. */
export function placeEvents(
  read: Reader,
  { namespace = "", name }: { namespace?: string | undefined; name: string },
  events: readonly AuditEvent[],
): AuditEvent[] {
  // A decision has the name of its Process.
  const process = read.find(Process, { namespace, name });
  const app = process && read.find(App, { namespace, name: process.spec.appRef.name });
  const tenancy = findTenancy(read, namespace);
  if (!app || !tenancy) return [];
  const appName = displayNameOf(app);
  return events.map((event) => ({
    ...event,
    actor: event.actor.type === "app" ? { ...event.actor, name: appName } : event.actor,
    target: { ...event.target, name: appName },
    spaceGUID: tenancy.space.guid,
    orgGUID: tenancy.org.guid,
  }));
}
