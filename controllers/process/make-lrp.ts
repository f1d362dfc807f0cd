// The LRP of a process at a Revision, from all that it is made of.
import type { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { toRunnable } from "../../crds/droplet/rules.ts";
import { EnvironmentGroup } from "../../crds/environment-group/environment-group.ts";
import { groupVariables } from "../../crds/environment-group/group-variables.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import { ANNOTATIONS } from "../../crds/labels.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import type { IsKnownToAll } from "../../crds/replica/skew.ts";
import type { Process } from "../../crds/process/process.ts";
import type { Revision, RevisionProcess } from "../../crds/revision/revision.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { Draft } from "../../kube/client/client.ts";
import { NotReady, type RemoteClusters } from "../../kube/controller/controller.ts";
import { parseTraceparent } from "../../kube/tracing/trace-context.ts";
import { refusePullSecret, refuseVolumes } from "../shared/refuse-elsewhere.ts";
import { listRouteURLs } from "../shared/route-urls.ts";
import type { AppHistory } from "../shared/rollouts.ts";
import { getTenancy } from "../shared/tenancy.ts";
import { planLRP, toUsable, type LRPPlace } from "./lrp.ts";

export interface LRPContext {
  guid: string;
  appGUID: string;
  apiURL: string;
  read: Reader;
  history: AppHistory;
  clusters: RemoteClusters;
  isKnownToAll: IsKnownToAll;
}

interface LRPVersion {
  revision: Revision;
  share: Pick<LRP["spec"], "instances" | "indexes">;
  /** On the platform's own cluster when left out. */
  place?: LRPPlace;
}

/** @throws NotReady while an input of the LRP is missing */
export function makeLRP(process: Process, app: App, context: LRPContext & LRPVersion): Draft {
  const { guid, appGUID, apiURL, isKnownToAll, read, revision, share, place = {} } = context;
  const { namespace } = process.metadata;
  if (place.owner !== undefined) refuseVolumes(revision);
  const snapshot = getSnapshot(process, revision);
  const droplet = getDroplet(process, revision, read);
  if (place.owner !== undefined) refusePullSecret(toRunnable(droplet));
  const tenancy = getTenancy(read, namespace ?? "");
  const findRunner = place.findRunner ?? ((name: string) => read.find(BackendClass, { name }));
  return planLRP(
    {
      process,
      processGUID: guid,
      app: {
        guid: appGUID,
        name: displayNameOf(app),
        object: app.metadata.name,
        trace: traceOf(findStarter(app, context), place),
      },
      tenancy,
      revision,
      snapshot,
      droplet,
      apiURL,
      uris: listRouteURLs(read, { namespace, name: app.metadata.name, processType: process.spec.type }, tenancy),
      groupEnv: groupVariables(read.find(EnvironmentGroup, { namespace: SYSTEM_NAMESPACE, name: "running" })),
      capabilities: toUsable(findRunner(snapshot.runner)?.status?.capabilities ?? {}, isKnownToAll),
      place,
    },
    share,
  );
}

/** The object that made the revision start: its Rollout, else the app. The Process may be older. */
function findStarter(
  app: App,
  { revision, history }: Pick<LRPContext & LRPVersion, "revision" | "history">,
): KubeObject {
  const { rollout } = revision.spec;
  return (
    (rollout === undefined ? undefined : history.rollouts.find(({ metadata }) => metadata.name === rollout)) ?? app
  );
}

/** The annotation may be anybody's. */
function traceOf({ metadata: { annotations } }: KubeObject, { owner }: LRPPlace): Record<string, string> {
  const trace = annotations?.[ANNOTATIONS.traceparent];
  if (trace === undefined || owner !== undefined || !parseTraceparent(trace)) return {};
  return { [ANNOTATIONS.traceparent]: trace };
}

function getSnapshot({ spec: { type } }: Process, { spec }: Revision): RevisionProcess {
  const snapshot = spec.processes.find((candidate) => candidate.type === type);
  if (snapshot) return snapshot;
  throw new NotReady(
    "NotInRevision",
    `revision ${spec.version} has no process ${type}; it starts with the app's next restart`,
    { isFailure: true },
  );
}

function getDroplet({ metadata: { namespace } }: Process, { spec }: Revision, read: Reader): Droplet {
  const droplet = read.find(Droplet, { namespace, name: spec.dropletRef.name });
  if (droplet) return droplet;
  throw new NotReady(
    "DropletMissing",
    `droplet ${spec.dropletRef.name} of revision ${spec.version} does not exist; push the app, or restart it with another droplet`,
    { isFailure: true },
  );
}
