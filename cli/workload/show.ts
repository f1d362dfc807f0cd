// `cup workload`: what the runner makes of an app, by its LRPs, and what of it is in the cluster.
import { stringify } from "yaml";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { INSTANCE_SELECTOR_LABELS } from "../../crds/labels.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import type { Process } from "../../crds/process/process.ts";
import { processTypeLabel } from "../../crds/process/defaults.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { SPACE_OBSERVE } from "../../crds/roles.ts";
import { listActing } from "../../crds/adjustment/of-process.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { readUrls } from "../app/process-state.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { fields, table, type Result } from "../output.ts";
import { quoteForShell } from "../shell-words.ts";
import { readLive, toRow, type LiveObjects } from "./live.ts";
import { readApp, type AppObjects } from "./read-app.ts";
import { draftLRP, renderLRP, type NextStart, type Rendering } from "./rendered.ts";

/** A process with its LRPs: several while a rollout is under way, one that does not exist yet while it does not run. */
interface Workload {
  process: Process;
  lrp: LRP | undefined;
  isRunning: boolean;
  rendering: Rendering;
}

export interface WorkloadOptions {
  output?: "yaml";
}

export async function showWorkload(
  kube: KubeClient,
  context: Context,
  { name, options }: { name: string; options: WorkloadOptions },
): Promise<Result> {
  const app = await readApp(kube, context, name);
  const workloads = await listWorkloads(kube, context, app);
  if (options.output === "yaml") return { json: undefined, text: toYaml(workloads, name) };
  const live = await readLive(kube, app.namespace, app.resource.guid);
  return presentWorkload(app, workloads, live);
}

async function listWorkloads(kube: KubeClient, context: Context, app: AppObjects): Promise<Workload[]> {
  const running = app.processes.map((process) => ({ process, lrps: lrpsOf(process, app) }));
  const next = running.some(({ lrps }) => lrps.length === 0) ? await findNextStart(kube, context, app) : undefined;
  return running.flatMap(({ process, lrps }): Workload[] => {
    if (lrps.length > 0) return lrps.map((lrp) => ({ process, lrp, isRunning: true, rendering: renderLRP(lrp) }));
    const lrp = next && draftLRP(process, app, next);
    const rendering = lrp ? renderLRP(lrp) : { why: "it has not started yet: no revision has it" };
    return [{ process, lrp, isRunning: false, rendering }];
  });
}

function lrpsOf({ spec }: Process, { lrps }: AppObjects): LRP[] {
  return lrps
    .filter((lrp) => lrp.spec.processType === spec.type)
    .toSorted((one, other) => Number(one.spec.revision) - Number(other.spec.revision));
}

/** The newest revision of an app, and what its LRPs would be made from. Variables of all apps are left out. */
async function findNextStart(
  kube: KubeClient,
  context: Context,
  { app, namespace, resource }: AppObjects,
): Promise<NextStart | undefined> {
  const { items } = await kube.list(Revision, { namespace });
  const [revision] = items
    .filter(({ spec }) => spec.appRef.name === app.metadata.name)
    .toSorted((one, other) => other.spec.version - one.spec.version);
  const droplet = revision && (await kube.find(Droplet, { namespace, name: revision.spec.dropletRef.name }));
  if (!revision || !droplet) return undefined;
  const [org, space, urls] = await Promise.all([context.org(), context.space(), readUrls(context, resource)]);
  return {
    revision,
    droplet,
    tenancy: {
      org: { guid: org.guid, name: org.name },
      space: { guid: space.guid, name: space.name },
      orgNamespace: "",
      orgObjectName: "",
    },
    apiURL: context.target.api,
    uris: urls.map((url) => url.replace(/^[a-z]+:\/\//, "")),
  };
}

/** A YAML document for each object, as `kubectl diff -f -` takes them. Pure. @throws Failure when there are none */
function toYaml(workloads: readonly Workload[], name: string): string[] {
  const objects = workloads.flatMap(({ rendering }) => ("objects" in rendering ? rendering.objects : []));
  if (objects.length > 0)
    return objects
      .map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd())
      .join("\n---\n")
      .split("\n");
  const why = workloads.flatMap(({ rendering }) => ("why" in rendering ? [rendering.why] : []))[0];
  throw new Failure(`nothing is generated for ${name}: ${why ?? "it has no process"}`, {
    next: `cup workload ${quoteForShell(name)}`,
  });
}

/** Pure. */
export function presentWorkload(app: AppObjects, workloads: readonly Workload[], live: LiveObjects): Result {
  const { namespace, resource, adjustments } = app;
  return {
    json: {
      app: { name: resource.name, guid: resource.guid },
      namespace,
      processes: workloads.map(({ process, lrp, isRunning, rendering }) => ({
        process: process.metadata.name,
        type: process.spec.type,
        running: isRunning,
        lrp: lrp && withoutManagers(lrp),
        adjustments: listActing(process.metadata.name, adjustments).map(withoutManagers),
        ...rendering,
      })),
      live: live.objects,
      unreadable: live.forbidden,
    },
    text: [
      ...fields([
        ["app", resource.name],
        ["namespace", namespace],
      ]),
      ...workloads.flatMap((workload) => ["", ...toLines(workload, app)]),
      "",
      ...toLiveLines(live, namespace),
    ],
  };
}

function withoutManagers(object: KubeObject): KubeObject {
  const { managedFields: _managers, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function toLines({ process, lrp, isRunning, rendering }: Workload, { resource, adjustments }: AppObjects): string[] {
  const word = quoteForShell(resource.name);
  const acting = listActing(process.metadata.name, adjustments);
  return fields([
    ["process", process.spec.type],
    ["lrp", lrp ? describeLRP(lrp, isRunning) : "none"],
    ["applies", "objects" in rendering ? listNames(rendering.objects) : rendering.why],
    ["adjusted by", acting.map(describeReady).join("\n") || `nothing: cup adjust ${word} -f patch.yaml`],
    ["selector", toSelector(process, resource.guid)],
  ]);
}

function toSelector({ spec }: Process, guid: string): string {
  return `${INSTANCE_SELECTOR_LABELS.app}=${guid},${INSTANCE_SELECTOR_LABELS.processType}=${processTypeLabel(spec.type)}`;
}

function describeLRP({ metadata, spec }: LRP, isRunning: boolean): string {
  const facts = `class ${spec.class}, rendering ${spec.rendering}, revision ${spec.revision}${spec.detached ? ", detached: yours" : ""}`;
  return isRunning ? `${metadata.name} (${facts})` : `${metadata.name}, when it starts (${facts})`;
}

function listNames(objects: readonly { kind?: string; metadata: { name?: string } }[]): string {
  return objects.map(({ kind = "", metadata }) => `${kind} ${metadata.name ?? ""}`).join(", ");
}

function describeReady(object: KubeObject): string {
  const { conditions = [] } = (object["status"] ?? {}) as {
    conditions?: { type: string; reason: string; message: string }[];
  };
  const ready = conditions.find(({ type }) => type === "Ready");
  return ready ? `${object.metadata.name} (${ready.reason}: ${ready.message})` : object.metadata.name;
}

function toLiveLines({ objects, forbidden }: LiveObjects, namespace: string): string[] {
  const rows = objects.map(toRow);
  return [
    ...(rows.length > 0 ? table(["kind", "name", "state", "made by"], rows) : []),
    ...(forbidden.length > 0
      ? [
          `Not shown, since you may not read them: ${forbidden.join(", ")}.`,
          `Next: ask an admin: kubectl create rolebinding NAME -n ${namespace} --clusterrole ${SPACE_OBSERVE} --user YOU`,
        ]
      : []),
  ];
}
