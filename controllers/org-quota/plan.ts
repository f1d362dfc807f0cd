// Which processes of an org the quotas of the org and of its spaces let run, and with how many instances. Pure; one writer asks (enforce.ts).
import { isDeepStrictEqual } from "node:util";
import {
  addDemand,
  findExcess,
  NO_USAGE,
  type AppLimits,
  type AppUsage,
  type Demand,
  type Excess,
} from "../../crds/org-quota/rules.ts";
import { covers, withoutProblem, type Grant } from "../shared/process-demand.ts";

/** A process of the org, as the plan needs it. */
export interface Applicant {
  uid: string;
  /** The namespace of its space. */
  namespace: string;
  /** Earlier ones come first: creation, then uid. */
  order: string;
  /** Demand by its spec and its app's state; no instances while the app is stopped. */
  wanted: Demand;
  /** Grant in the status. */
  grant: Grant | undefined;
  /** Instances that run without a grant, since there was no limit when they started: they go on. */
  running?: Demand | undefined;
}

/** A quota with its name, for messages. */
export interface NamedLimits {
  name: string;
  limits: AppLimits;
}

export interface OrgQuotas {
  org: NamedLimits | undefined;
  /** By the namespace of the space. */
  spaces: ReadonlyMap<string, NamedLimits>;
  /** Use of running tasks, by the namespace of the space. */
  tasks?: ReadonlyMap<string, AppUsage>;
}

/** Grants that differ from what the statuses say, by uid; null removes one. Those that become smaller come first. */
export function planGrants(applicants: readonly Applicant[], quotas: OrgQuotas): Map<string, Grant | null> {
  const ledger = createLedger(quotas);
  const held = new Map(applicants.map((one) => [one.uid, keptDemand(one)]));
  for (const one of applicants) ledger.add(one.namespace, held.get(one.uid));
  const next = new Map(applicants.map((one) => [one.uid, toGrant(held.get(one.uid))]));
  for (const one of applicants.toSorted((a, b) => (a.order < b.order ? -1 : 1))) {
    const before = held.get(one.uid);
    if (covers(before, one.wanted)) continue;
    const problem = ledger.replace(one.namespace, before, one.wanted);
    next.set(one.uid, problem === undefined ? toGrant(one.wanted) : { ...(toGrant(before) ?? NOTHING), problem });
  }
  return sortBySize(applicants, next);
}

const NOTHING = { instances: 0, memoryMB: 0, logRateLimitBytesPerSecond: 0 };

function toGrant(demand: Demand | undefined): Grant | null {
  return demand && demand.instances > 0 ? { ...demand } : null;
}

/** Instances that the process keeps whatever the quotas say: its grant, or what it wants if that is less. */
function keptDemand({ grant, running, wanted }: Applicant): Demand | undefined {
  const held = grant && grant.instances > 0 ? withoutProblem(grant) : grant ? undefined : running;
  if (!held || wanted.instances === 0) return undefined;
  return covers(held, wanted) ? wanted : held;
}

interface Ledger {
  add(namespace: string, demand: Demand | undefined): void;
  /** Books `after` instead of `before` unless that exceeds a quota: then the sentence that says which. */
  replace(namespace: string, before: Demand | undefined, after: Demand): string | undefined;
}

function createLedger({ org, spaces, tasks }: OrgQuotas): Ledger {
  const ofSpaces = new Map<string, AppUsage>(tasks);
  let ofOrg = [...ofSpaces.values()].reduce(addUsage, NO_USAGE);
  const book = (namespace: string, demand: Demand): void => {
    ofOrg = addDemand(ofOrg, demand);
    ofSpaces.set(namespace, addDemand(ofSpaces.get(namespace) ?? NO_USAGE, demand));
  };
  return {
    add: (namespace, demand) => demand && book(namespace, demand),
    replace(namespace, before, after) {
      const others = (usage: AppUsage): AppUsage => (before ? subtract(usage, before) : usage);
      const space = spaces.get(namespace);
      const problems = [
        ...describeExcess("org", org, others(ofOrg), after),
        ...describeExcess("space", space, others(ofSpaces.get(namespace) ?? NO_USAGE), after),
      ];
      if (problems.length > 0) return problems.join("; ");
      ofOrg = others(ofOrg);
      ofSpaces.set(namespace, others(ofSpaces.get(namespace) ?? NO_USAGE));
      book(namespace, after);
      return undefined;
    },
  };
}

function addUsage(one: AppUsage, other: AppUsage): AppUsage {
  return {
    instances: one.instances + other.instances,
    memoryMB: one.memoryMB + other.memoryMB,
    logRateLimitBytesPerSecond: one.logRateLimitBytesPerSecond + other.logRateLimitBytesPerSecond,
  };
}

function subtract(usage: AppUsage, demand: Demand): AppUsage {
  const part = addDemand(NO_USAGE, demand);
  return {
    instances: usage.instances - part.instances,
    memoryMB: usage.memoryMB - part.memoryMB,
    logRateLimitBytesPerSecond: usage.logRateLimitBytesPerSecond - part.logRateLimitBytesPerSecond,
  };
}

const NOUNS: Record<Excess, (limits: AppLimits) => string> = {
  memory: ({ totalMemoryMB }) => `${totalMemoryMB} MB of memory`,
  instanceMemory: ({ instanceMemoryMB }) => `${instanceMemoryMB} MB of memory for one instance`,
  instances: ({ totalInstances }) => `${totalInstances} instances`,
  logRate: ({ logRateLimitBytesPerSecond }) => `${logRateLimitBytesPerSecond} log bytes per second`,
  unlimitedLogRate: ({ logRateLimitBytesPerSecond }) =>
    `${logRateLimitBytesPerSecond} log bytes per second, and a process without a limit of its own has no place in it`,
};

function describeExcess(
  scope: "org" | "space",
  quota: NamedLimits | undefined,
  used: AppUsage,
  wanted: Demand,
): string[] {
  const found = findExcess(quota?.limits, used, wanted);
  if (!quota || found.length === 0) return [];
  const texts = found.map((excess) => NOUNS[excess](quota.limits)).join(", ");
  return [
    `${wanted.instances} x ${wanted.memoryMB} MB exceed quota ${quota.name} of the ${scope}, which allows ${texts}`,
  ];
}

function sortBySize(
  applicants: readonly Applicant[],
  next: ReadonlyMap<string, Grant | null>,
): Map<string, Grant | null> {
  const changed = applicants.flatMap(({ uid, grant }): { uid: string; to: Grant | null; grows: boolean }[] => {
    const to = next.get(uid) ?? null;
    if (isDeepStrictEqual(to, grant ?? null)) return [];
    return [{ uid, to, grows: to !== null && !covers(grant && withoutProblem(grant), withoutProblem(to)) }];
  });
  return new Map(changed.toSorted((a, b) => Number(a.grows) - Number(b.grows)).map(({ uid, to }) => [uid, to]));
}
