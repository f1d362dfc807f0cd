// ClusterRoles with an aggregationRule: their rules are those of the ClusterRoles that their selectors choose.
import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { PolicyRule } from "../../../kube/rbac/types.ts";
import { selectorMatches, type LabelSelector } from "../../../kube/api/label-selector.ts";
import type { ResourceReader, SystemWriter } from "../types.ts";
import { StatusError } from "../status.ts";
import { rbacGroup } from "./rbac-authorizer.ts";

type ClusterRole = KubeObject & {
  rules?: PolicyRule[] | null;
  aggregationRule?: { clusterRoleSelectors?: LabelSelector[] };
};

const gvr = { group: rbacGroup, version: "v1", resource: "clusterroles" };

export interface Aggregation {
  /** Brings every aggregated role up to date now. */
  settle(): Promise<void>;
  stop(): void;
}

/** The rules an aggregated role should have: selector by selector, in order of the chosen roles' names, each rule once. Pure. */
export function aggregatedRules(role: ClusterRole, all: ClusterRole[]): PolicyRule[] {
  const selectors = role.aggregationRule?.clusterRoleSelectors ?? [];
  const others = all
    .filter((one) => one.metadata.name !== role.metadata.name)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const rules: PolicyRule[] = [];
  for (const one of selectors.flatMap((selector) =>
    others.filter((each) => selectorMatches(selector, each.metadata.labels)),
  )) {
    for (const rule of one.rules ?? []) if (!rules.some((known) => isDeepStrictEqual(known, rule))) rules.push(rule);
  }
  return rules;
}

/** Follows ClusterRoles. Writes only differences; `onFault` gets failed writes; they are retried on the next change. */
export function startAggregation(
  reader: ResourceReader,
  writer: SystemWriter,
  onFault: (error: unknown) => void,
): Aggregation {
  let running = Promise.resolve();
  let queued = false;
  const settle = async (): Promise<void> => {
    queued = false;
    // A role may feed another (view, edit, admin), so once more as long as something changed; the chain's length bounds it.
    for (let round = 0; round < 10; round++) if (!(await settleOnce(reader, writer))) return;
  };
  const enqueue = (): Promise<void> => {
    if (!queued) {
      queued = true;
      running = running.then(settle).catch(onFault);
    }
    return running;
  };
  const stop = reader.subscribe(rbacGroup, "clusterroles", () => void enqueue());
  return { settle: enqueue, stop };
}

/** A pass; whether anything was written. */
async function settleOnce(reader: ResourceReader, writer: SystemWriter): Promise<boolean> {
  let wrote = false;
  for (const name of reader.list(rbacGroup, "clusterroles").map((one) => one.metadata.name)) {
    const role = reader.find(rbacGroup, "clusterroles", "", name) as ClusterRole | undefined;
    if (!role?.aggregationRule || role.metadata.deletionTimestamp) continue;
    const rules = aggregatedRules(role, reader.list(rbacGroup, "clusterroles") as ClusterRole[]);
    if (isDeepStrictEqual(rules, role.rules ?? [])) continue;
    wrote = true;
    await writeRules(writer, { ...role, rules });
  }
  return wrote;
}

async function writeRules(writer: SystemWriter, role: ClusterRole): Promise<void> {
  try {
    await writer.update(gvr, role);
  } catch (error) {
    // Somebody else wrote it in between, or deleted it: the next round looks again.
    if (!(error instanceof StatusError) || (error.body.code !== 409 && error.body.code !== 404)) throw error;
  }
}
