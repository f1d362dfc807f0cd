// Use of quotas by orgs and spaces, counted in the cache as CF counts it: by the desired state of started apps.
import { App } from "../../../crds/app/app.ts";
import { defaultInstances } from "../../../crds/process/defaults.ts";
import { Process } from "../../../crds/process/process.ts";
import { addDemand, addTask, NO_USAGE, type AppUsage, type Demand } from "../../../crds/org-quota/rules.ts";
import { Route } from "../../../crds/route/route.ts";
import { Space } from "../../../crds/space/space.ts";
import { Task } from "../../../crds/task/task.ts";
import { usesQuota } from "../../../crds/task/under-way.ts";
import { isNameHolder } from "../../access/name-claims.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";

/** Resources that a process asks for while its app is started. */
export function demandOf({ spec }: Pick<Process, "spec">): Demand {
  const { memoryMB, logRateLimitBytesPerSecond } = spec;
  return { instances: spec.instances ?? defaultInstances(spec.type), memoryMB, logRateLimitBytesPerSecond };
}

/** The namespaces of an org's spaces. `orgNamespace` is the org's own. */
export function listSpaceNamespaces(cache: ClusterCache, orgNamespace: string): string[] {
  return cache
    .store(Space)
    .list({ namespace: orgNamespace })
    .flatMap(({ status }) => status?.namespace ?? []);
}

/** The processes of started apps, but for those that `except` picks, and the tasks that are under way. */
export function countProcesses(
  cache: ClusterCache,
  namespaces: readonly string[],
  except: (process: Process) => boolean = () => false,
): AppUsage {
  return namespaces
    .flatMap((namespace) => listStartedProcesses(cache, namespace))
    .filter((process) => !except(process))
    .reduce(
      (sum, process) => addDemand(sum, demandOf(process)),
      listTasks(cache, namespaces).reduce((sum, { spec }) => addTask(sum, spec), NO_USAGE),
    );
}

/** The tasks that wait or run. */
export function listTasks(cache: ClusterCache, namespaces: readonly string[]): Task[] {
  return namespaces.flatMap((namespace) => cache.store(Task).list({ namespace })).filter(usesQuota);
}

/** The processes of the started apps of a namespace. */
export function listStartedProcesses(cache: ClusterCache, namespace: string): Process[] {
  const started = cache
    .store(App)
    .list({ namespace })
    .filter((app) => app.spec.state === "Started" && !app.metadata.deletionTimestamp);
  const names = new Set(started.map(({ metadata }) => metadata.name));
  if (names.size === 0) return [];
  return cache
    .store(Process)
    .list({ namespace })
    .filter((process) => names.has(process.spec.appRef.name));
}

/** The routes that hold their address. */
export function listRoutes(cache: ClusterCache, namespaces: readonly string[]): Route[] {
  return namespaces
    .flatMap((namespace) => cache.store(Route).list({ namespace }))
    .filter((route) => isNameHolder(cache, Route, route));
}
