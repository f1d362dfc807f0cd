// Running things, for usage events: processes, tasks and builds with the names and GUIDs that an event shows. Only reads.
import { App } from "../../crds/app/app.ts";
import type { Build } from "../../crds/build/build.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { guidOf } from "../../crds/guid.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import type { Process } from "../../crds/process/process.ts";
import { isFinished } from "../../crds/task/sequence.ts";
import type { Task } from "../../crds/task/task.ts";
import { toProcessUsage, toUsageBuildpack } from "../../crds/usage-log/process-usage.ts";
import type { BuildUsage, ProcessUsage, TaskUsage } from "../../crds/usage-log/rules.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { findTenancy, TENANCY_KINDS } from "../shared/tenancy.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";

/** The kinds that are read here. */
export const USAGE_KINDS: readonly ResourceRef[] = [App, Droplet, ...TENANCY_KINDS];

/** `waiting`: it cannot be said yet, for want of its space or org. `gone`: it runs no more. */
export type Seen<T> = T | "waiting" | "gone";

type Place = Pick<ProcessUsage, "app" | "space" | "orgGUID" | "buildpack">;

export function observeProcess(read: Reader, process: Process): Seen<ProcessUsage> {
  const app = findApp(read, process);
  if (!app || process.metadata.deletionTimestamp) return "gone";
  const place = findPlace(read, app);
  if (!place) return "waiting";
  const { namespace = "" } = app.metadata;
  const droplet = app.spec.droplet && read.find(Droplet, { namespace, name: app.spec.droplet.name });
  return toProcessUsage({ process, app, droplet }, place);
}

/** `wasUnderWay`: it was seen before it ended, so that its end is news. */
export function observeTask(read: Reader, task: Task, wasUnderWay: boolean): Seen<TaskUsage> {
  const place = findPlaceOf(read, task);
  if (typeof place === "string") return place;
  const isNews = wasUnderWay && task.status?.startedAt !== undefined;
  if (isFinished(task) && !isNews) return "gone";
  return {
    ...place,
    task: { guid: guidOf(task), name: displayNameOf(task) },
    memoryMB: task.spec.memoryMB,
    phase: isFinished(task) ? "ended" : task.status?.state === "Running" ? "running" : "waiting",
  };
}

export function observeBuild(read: Reader, build: Build, wasUnderWay: boolean): Seen<BuildUsage> {
  const place = findPlaceOf(read, build);
  if (typeof place === "string") return place;
  const phase = PHASES[build.status?.state ?? "Staging"];
  if (phase !== "staging" && !wasUnderWay) return "gone";
  return {
    ...place,
    ...buildpackOfBuild(read, build),
    build: { guid: guidOf(build) },
    memoryMB: build.spec.memoryMB,
    phase,
  };
}

const PHASES = { Staging: "staging", Staged: "staged", Failed: "failed" } as const;

/** The first that built it, or while it is being built the first that it asks for. */
function buildpackOfBuild(read: Reader, { metadata, spec, status }: Build): Pick<Place, "buildpack"> {
  const key = status?.droplet !== undefined && { namespace: metadata.namespace ?? "", name: status.droplet };
  return toUsageBuildpack(key ? read.find(Droplet, key)?.spec.buildpacks[0]?.name : spec.lifecycle?.buildpacks[0]);
}

/** Place of a part of an app. */
function findPlaceOf(read: Reader, part: Task | Build): Seen<Place> {
  const app = findApp(read, part);
  if (!app || part.metadata.deletionTimestamp) return "gone";
  return findPlace(read, app) ?? "waiting";
}

function findApp(read: Reader, { metadata, spec }: Process | Task | Build): App | undefined {
  const app = read.find(App, { namespace: metadata.namespace ?? "", name: spec.appRef.name });
  return app?.metadata.deletionTimestamp ? undefined : app;
}

function findPlace(read: Reader, app: App): Place | undefined {
  const tenancy = findTenancy(read, app.metadata.namespace ?? "");
  return (
    tenancy && { app: { guid: guidOf(app), name: displayNameOf(app) }, space: tenancy.space, orgGUID: tenancy.org.guid }
  );
}
