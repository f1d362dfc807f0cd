// Writes what the quotas of an org let each of its processes run (Process.status.quota). One replica does, so that no sum is ever exceeded, whoever starts what.
import { App } from "../../crds/app/app.ts";
import { ageSortKey } from "../../crds/guid.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { Org } from "../../crds/org/org.ts";
import { addTask, limitsProcesses, NO_USAGE, type AppUsage, type Demand } from "../../crds/org-quota/rules.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { findMergedLRP } from "../../crds/placement-decision/merged-lrps.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Rollout } from "../../crds/rollout/rollout.ts";
import { SpaceQuota } from "../../crds/space-quota/space-quota.ts";
import { Space } from "../../crds/space/space.ts";
import { Task } from "../../crds/task/task.ts";
import { usesQuota } from "../../crds/task/under-way.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import { hasReached } from "../../kube/api/resource-version.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isNotFound } from "../../kube/client/errors.ts";
import { defineController, watch, type Controller, type ReconcileContext } from "../../kube/controller/controller.ts";
import { withoutDeleting } from "../shared/app-owned.ts";
import { desiredDemand, type Grant } from "../shared/process-demand.ts";
import { findOrgQuota, findSpaceOfNamespace, findSpaceQuota } from "../shared/quotas.ts";
import type { AppHistory } from "../shared/rollouts.ts";
import { findOrgOfNamespace } from "../shared/tenancy.ts";
import { planGrants, type Applicant, type OrgQuotas } from "./plan.ts";

export function quotaController(): Controller {
  const terms = new WeakMap<KubeClient, OwnWrites>();
  return defineController({
    name: "quota",
    kind: "singleton",
    for: Org,
    writesStatus: false,
    writesObject: false,
    reads: [Namespace, Revision, LRP, PlacementDecision],
    watches: [
      watch(Process, (process, read) => mapToOrg(process.metadata.namespace, read)),
      watch(App, (app, read) => mapToOrg(app.metadata.namespace, read)),
      watch(Rollout, (rollout, read) => mapToOrg(rollout.metadata.namespace, read)),
      watch(Task, (task, read) => mapToOrg(task.metadata.namespace, read)),
      watch(Space, (space, read) => toKeys(findOrgOfNamespace(read, space.metadata.namespace ?? ""))),
      watch(SpaceQuota, (quota, read) => toKeys(findOrgOfNamespace(read, quota.metadata.namespace ?? ""))),
      watch(OrgQuota, (_quota, read) => read.list(Org).map(({ metadata: { name } }) => ({ name }))),
    ],
    permissions: [
      { resource: Process, subresource: "status", verbs: ["patch"] },
      { resource: Process, verbs: ["get", "list"] },
    ],

    async reconcile(org, context) {
      // The client is another one in each term of the leader.
      let writes = terms.get(context.client);
      if (!writes) terms.set(context.client, (writes = new OwnWrites()));
      await enforce(org, writes, context);
      return {};
    },
  });
}

async function enforce(org: Org, writes: OwnWrites, context: ReconcileContext): Promise<void> {
  const { read } = context;
  const spaces = read.list(Space, { namespace: org.status?.namespace ?? "" });
  const quotas = findLimits(org, spaces, read);
  // Without a limit an event costs nothing, once the grants of an earlier one are gone.
  if (!quotas && writes.isUnlimited(org)) return;
  await writes.readOnce(org, spaces, context.client);
  const applicants = spaces.flatMap(({ status }) => listApplicants(status?.namespace, writes, read));
  const isLimited = ({ namespace }: Applicant): boolean =>
    quotas !== undefined && (quotas.org !== undefined || quotas.spaces.has(namespace));
  const unlimited = applicants.filter((one) => one.grant !== undefined && !isLimited(one));
  for (const { uid } of unlimited) await writes.write(uid, null, context);
  if (quotas)
    for (const [uid, grant] of planGrants(applicants.filter(isLimited), { ...quotas, tasks: countTasks(spaces, read) }))
      await writes.write(uid, grant, context);
  writes.setUnlimited(org, quotas === undefined);
}

function mapToOrg(namespace: string | undefined, read: Reader): { name: string }[] {
  const space = findSpaceOfNamespace(read, namespace ?? "");
  return toKeys(space && findOrgOfNamespace(read, space.metadata.namespace ?? ""));
}

function toKeys(org: Org | undefined): { name: string }[] {
  return org ? [{ name: org.metadata.name }] : [];
}

/** The quotas that limit processes; undefined when none does. */
function findLimits(org: Org, spaces: readonly Space[], read: Reader): OrgQuotas | undefined {
  const quota = findOrgQuota(read, org);
  const own = quota && limitsProcesses(quota.spec) ? { name: quota.spec.name, limits: quota.spec } : undefined;
  const ofSpaces = spaces.flatMap((space) => {
    const found = findSpaceQuota(read, space);
    const { namespace } = space.status ?? {};
    return found && namespace !== undefined && limitsProcesses(found.spec)
      ? [[namespace, { name: found.spec.name, limits: found.spec }] as const]
      : [];
  });
  return own || ofSpaces.length > 0 ? { org: own, spaces: new Map(ofSpaces) } : undefined;
}

function countTasks(spaces: readonly Space[], read: Reader): Map<string, AppUsage> {
  const namespaces = spaces.flatMap(({ status }) => status?.namespace ?? []);
  return new Map(
    namespaces.map((namespace) => [
      namespace,
      read
        .list(Task, { namespace })
        .filter(usesQuota)
        .reduce((sum, { spec }) => addTask(sum, spec), NO_USAGE),
    ]),
  );
}

function listApplicants(namespace: string | undefined, writes: OwnWrites, read: Reader): Applicant[] {
  if (namespace === undefined) return [];
  const histories = readHistories(namespace, read);
  return withoutDeleting(read.list(Process, { namespace })).map((cached) =>
    toApplicant(writes.newest(cached), histories, read),
  );
}

/** The Revisions and Rollouts of each app of a namespace. */
function readHistories(namespace: string, read: Reader): (app: string) => AppHistory {
  const appOf = ({ spec }: Rollout | Revision): string => spec.appRef.name;
  const rollouts = Map.groupBy(withoutDeleting(read.list(Rollout, { namespace })), appOf);
  const revisions = Map.groupBy(read.list(Revision, { namespace }), appOf);
  return (app) => ({ rollouts: rollouts.get(app) ?? [], revisions: revisions.get(app) ?? [] });
}

function toApplicant(process: Process, historyOf: (app: string) => AppHistory, read: Reader): Applicant {
  const { uid = "", namespace = "" } = process.metadata;
  const { name } = process.spec.appRef;
  const grant = process.status?.quota;
  return {
    uid,
    namespace,
    order: ageSortKey(process),
    wanted: desiredDemand(process, read.find(App, { namespace, name }), historyOf(name)),
    grant,
    ...(!grant && { running: findRunning(process, read) }),
  };
}

function findRunning({ metadata: { namespace, name }, status }: Process, read: Reader): Demand | undefined {
  if (status?.lrp === undefined) return undefined;
  const decision = read.find(PlacementDecision, { namespace, name });
  const lrp = decision ? findMergedLRP(decision, status.lrp) : read.find(LRP, { namespace, name: status.lrp });
  if (!lrp || lrp.spec.instances === 0) return undefined;
  const { instances, memoryMB, logRateLimitBytesPerSecond } = lrp.spec;
  return { instances, memoryMB, logRateLimitBytesPerSecond };
}

/** Writes of this leader in its term, and its live reads at the beginning: newer than the cache may be. */
class OwnWrites {
  readonly #newest = new Map<string, Process>();
  readonly #orgs = new Set<string>();
  readonly #unlimited = new Set<string>();

  /** Has no limit, and no process has a grant of an earlier one. */
  isUnlimited({ metadata: { uid = "" } }: Org): boolean {
    return this.#unlimited.has(uid);
  }

  setUnlimited({ metadata: { uid = "" } }: Org, isUnlimited: boolean): void {
    if (isUnlimited) this.#unlimited.add(uid);
    else this.#unlimited.delete(uid);
  }

  /** The cache may lack the last writes of the leader before. */
  async readOnce(org: Org, spaces: readonly Space[], client: KubeClient): Promise<void> {
    const { uid = "" } = org.metadata;
    if (this.#orgs.has(uid)) return;
    for (const { status } of spaces) {
      if (status?.namespace === undefined) continue;
      const { items } = await client.list(Process, { namespace: status.namespace });
      for (const process of items) this.#newest.set(process.metadata.uid ?? "", process);
    }
    this.#orgs.add(uid);
  }

  newest(cached: Process): Process {
    const { uid = "", resourceVersion = "" } = cached.metadata;
    const known = this.#newest.get(uid);
    if (!known || hasReached(resourceVersion, known.metadata.resourceVersion ?? "")) {
      this.#newest.delete(uid);
      return cached;
    }
    return known;
  }

  async write(uid: string, quota: Grant | null, { client, read }: ReconcileContext): Promise<void> {
    const process = this.#newest.get(uid) ?? read.byUid(Process, uid);
    if (!process) return;
    // Merged field by field: a problem that is over goes.
    const body = { status: { quota: quota && { problem: null, ...quota } } };
    try {
      const made = await client.patch(Process, process.metadata, { type: "merge", body }, { subresource: "status" });
      this.#newest.set(uid, made);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
