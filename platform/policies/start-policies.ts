// Operator policy as one process knows it, for the operations that judge by it.
import type { Logger } from "pino";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Membership } from "../../kube/lease/membership.ts";
import type { Readiness } from "../../kube/server/readiness.ts";
import type { Operation } from "../operations/operations.ts";
import { startLivePolicies, type LivePolicies } from "./live-policies.ts";
import { startStartGate, type RunningStartGate } from "./start-gate.ts";

/** Operations that judge by operator policy. */
export const JUDGING_OPERATIONS: readonly Operation[] = ["api", "controllers", "webhook"];

export interface ProcessPolicies {
  live: LivePolicies;
  /** For controllers. */
  gate?: RunningStartGate;
}

export interface ProcessPoliciesOptions {
  options: { operations: readonly Operation[] };
  informers: Informers;
  membership: Membership;
  log: Logger;
  readiness: Readiness;
  disposables: AsyncDisposableStack;
}

/** Starts the watches, and keeps the process unready until all policies that existed at the start are known. Nothing where nothing is judged. */
export function startPolicies({
  options: { operations },
  informers,
  membership,
  log,
  disposables,
  readiness,
}: ProcessPoliciesOptions): { policies?: ProcessPolicies } {
  if (!JUDGING_OPERATIONS.some((operation) => operations.includes(operation))) return {};
  const live = startLivePolicies({ informers, log });
  disposables.defer(() => live.close());
  readiness.addCheck("policies", () => live.check());
  if (!operations.includes("controllers")) return { policies: { live } };
  const gate = startStartGate({ policies: live, informers, membership });
  disposables.defer(() => gate.close());
  return { policies: { live, gate } };
}
