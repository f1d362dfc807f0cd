// The LRP of one process at one Revision: everything a runner needs, in one object. Pure.
import { vcapApplication } from "../../crds/app/vcap.ts";
import type { Droplet } from "../../crds/droplet/droplet.ts";
import { toRunnable } from "../../crds/droplet/rules.ts";
import type { EnvVar } from "../../crds/schema-fields.ts";
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { deriveGUID, guidOf } from "../../crds/guid.ts";
import { ANNOTATIONS, LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { generatedName } from "../../crds/object-names.ts";
import { processTypeLabel } from "../../crds/process/defaults.ts";
import { mainMemoryMB, sidecarsOfType } from "../../crds/sidecar.ts";
import type { Process } from "../../crds/process/process.ts";
import type { IsKnownToAll } from "../../crds/replica/skew.ts";
import type { Revision, RevisionProcess } from "../../crds/revision/revision.ts";
import type { Draft } from "../../kube/client/client.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import { toDropletArtifact } from "../shared/droplet-artifact.ts";
import { planRunningEnv } from "../shared/running-env.ts";
import { tenancyLabels, type Tenancy } from "../shared/tenancy.ts";

/** Keys of `status.capabilities` of a runner's class. */
export interface RunnerCapabilities {
  /** Version of its renderer; "1" by default. */
  rendering?: string;
  /** By which it holds its LRPs. One that is there from the start costs no write. */
  finalizer?: string;
}

/** Without the finalizer while controllers run that would take it off. */
export function toUsable({ finalizer, ...others }: RunnerCapabilities, isKnownToAll: IsKnownToAll): RunnerCapabilities {
  return finalizer !== undefined && isKnownToAll("finalizer-at-creation") ? { ...others, finalizer } : others;
}

export interface LRPInput {
  process: Process;
  /** The presented GUID: the web process has its app's. */
  processGUID: string;
  /** `trace`: annotations of the trace of its last start. */
  app: { guid: string; name: string; object: string; trace?: Record<string, string> };
  tenancy: Tenancy;
  revision: Revision;
  /** The revision's part for this type. */
  snapshot: RevisionProcess;
  droplet: Droplet;
  apiURL: string;
  /** URLs that reach this process, without scheme. */
  uris: readonly string[];
  /** Variables of all apps; the app's own win. */
  groupEnv: readonly EnvVar[];
  /** Status of the runner's class. */
  capabilities: RunnerCapabilities;
  place?: LRPPlace;
}

/** Where an LRP is made. */
export interface LRPPlace {
  /** On another cluster: hub and GUID of the process, which a restored backup keeps. Names there derive from these and the Revision's GUID, not from uids. */
  owner?: string;
  /** The runner's class there; that of the platform's own cluster when left out. */
  findRunner?: (className: string) => BackendClass | undefined;
}

/** The name of a process's LRP at a revision. */
export function lrpName(process: Process, revision: Revision, { owner }: LRPPlace = {}): string {
  return generatedName(`${process.spec.appRef.name}-${process.spec.type}`, toIds(process, revision, owner).join("/"));
}

function toIds(process: Process, revision: Revision, owner: string | undefined): [string, string] {
  if (owner !== undefined) return [owner, guidOf(revision)];
  return [process.metadata.uid ?? "", revision.metadata.uid ?? ""];
}

export function planLRP(input: LRPInput, { instances, indexes }: Pick<LRP["spec"], "instances" | "indexes">): Draft {
  const { process, tenancy, revision, snapshot, droplet, app, place = {} } = input;
  const version = deriveGUID("lrp", ...toIds(process, revision, place.owner));
  const { labels, annotations } = tenancyLabels(tenancy);
  const { type, runner } = snapshot;
  const { rendering = "1", finalizer } = input.capabilities;
  return {
    apiVersion: apiVersionOf(LRP),
    kind: LRP.kind,
    metadata: {
      name: lrpName(process, revision, place),
      namespace: process.metadata.namespace,
      labels: { ...labels, ...planLabels(input, version) },
      annotations: { ...annotations, [ANNOTATIONS.appName]: app.name, ...app.trace },
      ...(finalizer && { finalizers: [finalizer] }),
    },
    spec: {
      class: runner,
      rendering,
      app: { guid: app.guid, name: app.name },
      space: tenancy.space,
      org: tenancy.org,
      processGUID: input.processGUID,
      processType: type,
      revision: String(revision.spec.version),
      version,
      droplet: toDropletArtifact(droplet),
      ...sizesOf(input),
      env: planProcessEnv(input, version),
      ...(revision.spec.serviceFiles && { serviceFiles: revision.spec.serviceFiles }),
      ...(revision.spec.volumes && { volumes: revision.spec.volumes }),
      instances,
      ...(indexes && { indexes }),
      ...(process.spec.restartInstances && { restartInstances: process.spec.restartInstances }),
    },
  };
}

function planLabels({ app, processGUID, snapshot, revision }: LRPInput, version: string): Record<string, string> {
  return {
    [LABELS.guid]: version,
    [LABELS.app]: app.guid,
    [LABELS.process]: processGUID,
    [LABELS.processType]: processTypeLabel(snapshot.type),
    [LABELS.revision]: String(revision.spec.version),
    [LABELS.sourceType]: "APP",
  };
}

/** Command, sizes, checks and sidecars. */
function sizesOf({ snapshot, revision }: LRPInput): Partial<LRP["spec"]> {
  const { type, runner: _class, ...sizes } = snapshot;
  const sidecars = sidecarsOfType(revision.spec.sidecars, type);
  return { ...sizes, ...(sidecars.length > 0 && { sidecars }) };
}

/** Updates an existing LRP: only instances and restarts come from the process. An update of the platform therefore changes no running LRP. */
export function planLRPUpdate(
  lrp: LRP,
  change: Pick<LRP["spec"], "instances" | "indexes" | "restartInstances">,
): Draft {
  const { name, namespace, labels, annotations } = lrp.metadata;
  const { restartInstances: _before, ...spec } = lrp.spec;
  return {
    apiVersion: apiVersionOf(LRP),
    kind: LRP.kind,
    metadata: { name, namespace, labels: pickOwnedKeys(labels), annotations: pickOwnedKeys(annotations) },
    spec: {
      ...spec,
      instances: change.instances,
      ...(change.indexes && { indexes: change.indexes }),
      ...(change.restartInstances && { restartInstances: change.restartInstances }),
    },
  };
}

const OWNED_KEYS: ReadonlySet<string> = new Set([
  LABELS.guid,
  LABELS.app,
  LABELS.process,
  LABELS.processType,
  LABELS.space,
  LABELS.org,
  LABELS.revision,
  LABELS.sourceType,
  ANNOTATIONS.appName,
  ANNOTATIONS.spaceName,
  ANNOTATIONS.orgName,
]);

/** Only the keys that this controller writes, so that it does not own labels of runtimes and users. */
function pickOwnedKeys(values: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(values ?? {}).filter(([key]) => OWNED_KEYS.has(key)));
}

/** The environment of all instances. */
export function planProcessEnv(input: LRPInput, version: string): EnvVar[] {
  const { snapshot, tenancy, app, droplet, revision } = input;
  const sidecars = sidecarsOfType(revision.spec.sidecars, snapshot.type);
  const memoryMB = mainMemoryMB({ memoryMB: snapshot.memoryMB, sidecars });
  const application = vcapApplication({
    apiURL: input.apiURL,
    app,
    space: tenancy.space,
    org: tenancy.org,
    uris: input.uris,
    limits: { memoryMB, diskMB: snapshot.diskMB },
    process: { guid: input.processGUID, type: snapshot.type },
    version,
  });
  return planRunningEnv({
    dropletKind: toRunnable(droplet).kind,
    groupEnv: input.groupEnv,
    env: revision.spec.env,
    services: revision.spec.services ?? [],
    application,
    memoryMB,
  });
}
