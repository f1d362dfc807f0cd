// Whether quotas let a task start: the number of tasks, and the memory and log rate beside what else runs.
import { QUOTA_EXCEEDED, RESOURCE_QUOTA_EXCEEDED, waitsForQuota } from "../../crds/org-quota/counts.ts";
import type { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import {
  addDemand,
  addTask,
  findExcess,
  limitsProcesses,
  NO_USAGE,
  type AppUsage,
  type Excess,
} from "../../crds/org-quota/rules.ts";
import { Process } from "../../crds/process/process.ts";
import { Space } from "../../crds/space/space.ts";
import { Task } from "../../crds/task/task.ts";
import { isTaskUnderWay, usesQuota } from "../../crds/task/under-way.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";
import { findFullQuota, type CountedKind } from "../shared/counted-quotas.ts";
import { findOrgQuota, findSpaceOfNamespace, findSpaceQuota } from "../shared/quotas.ts";
import { findOrgOfNamespace } from "../shared/tenancy.ts";

const TASKS: CountedKind<Task> = {
  ref: Task,
  limit: "totalAppTasks",
  noun: "tasks at a time",
  reason: QUOTA_EXCEEDED,
  counts: isTaskUnderWay,
  isInForce: (task) => task.status?.state !== undefined && !waitsForQuota(task),
};

/** Why a task that has not started must wait; undefined when it need not. */
export function findTaskQuota(task: Task, read: Reader): ReadyDraft | undefined {
  return findFullQuota(task, TASKS, read) ?? findTaskExcess(task, read);
}

const NOUNS: Partial<Record<Excess, string>> = {
  memory: "not that much memory beside what runs",
  instanceMemory: "not that much memory for one task",
  logRate: "not that many log bytes per second beside what runs",
  unlimitedLogRate: "no task without a limit of its log rate",
};

function findTaskExcess(task: Task, read: Reader): ReadyDraft | undefined {
  const { namespace = "" } = task.metadata;
  const space = findSpaceOfNamespace(read, namespace);
  const orgNamespace = space?.metadata.namespace ?? "";
  const org = findOrgOfNamespace(read, orgNamespace);
  if (!space || !org) return undefined;
  const inOrg = (): string[] =>
    read.list(Space, { namespace: orgNamespace }).flatMap(({ status }) => status?.namespace ?? []);
  return (
    describeExcess(
      "space",
      findExcessIn(task, findSpaceQuota(read, space)?.spec, { read, namespaces: () => [namespace] }),
    ) ?? describeExcess("organization", findExcessIn(task, findOrgQuota(read, org)?.spec, { read, namespaces: inOrg }))
  );
}

function findExcessIn(
  task: Task,
  limits: Partial<OrgQuota["spec"]> | undefined,
  { read, namespaces }: { read: Reader; namespaces: () => string[] },
): Excess[] {
  if (!limits || !limitsProcesses(limits)) return [];
  const used = namespaces().reduce((sum, namespace) => addNamespace(sum, { namespace, except: task, read }), NO_USAGE);
  return findExcess(limits, used, { ...task.spec, instances: 1 });
}

/** Adds the usage that processes have been granted, and that other tasks have. */
function addNamespace(
  used: AppUsage,
  { namespace, except, read }: { namespace: string; except: Task; read: Reader },
): AppUsage {
  const granted = read.list(Process, { namespace }).flatMap(({ status }) => status?.quota ?? []);
  return read
    .list(Task, { namespace })
    .filter((task) => task.metadata.uid !== except.metadata.uid && usesQuota(task) && TASKS.isInForce(task, read))
    .reduce((sum, { spec }) => addTask(sum, spec), granted.reduce(addDemand, used));
}

function describeExcess(place: "space" | "organization", found: readonly Excess[]): ReadyDraft | undefined {
  const texts = found.flatMap((excess) => NOUNS[excess] ?? []);
  if (texts.length === 0) return undefined;
  const message = `the quota of the ${place} allows ${texts.join(", and ")}: make the task smaller, or have the quota raised`;
  return { status: "False", reason: RESOURCE_QUOTA_EXCEEDED, message, isFailure: true };
}
