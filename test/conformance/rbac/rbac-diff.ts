// The differential run: the same random policies in force on servers and in our evaluator, the same random questions to all of them.
import type { Logger } from "pino";
import { createRbacAuthorizer, rbacKinds, type RbacWatch } from "../../../api/cache/rbac-authorizer.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { Store } from "../../../kube/cache/reader.ts";
import { createWatchedRbacIndex } from "../../../kube/rbac/watched-rbac-index.ts";
import type { RbacKind, RbacUser, ResourceAttributes } from "../../../kube/rbac/types.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import {
  applyPolicies,
  type InForce,
  mapLimited,
  isAllowed,
  makeNamespaces,
  waitForAggregation,
  waitForAuthorizer,
  type Versions,
} from "./cluster-policies.ts";
import { makePolicies, type Policy } from "./policies.ts";
import { type Case, makeCases } from "./questions.ts";
import { createRandom } from "./random.ts";

/** A server to ask, as an administrator. */
export interface ComparedAuthorizer {
  name: string;
  client: KubeClient;
}

export interface RbacDiffOptions {
  seed: number;
  cases: number;
  /** The first one is right; our evaluator follows it. The others are compared with it, too. */
  authorizers: readonly [ComparedAuthorizer, ...ComparedAuthorizer[]];
  log: Logger;
  /** Questions to one set of policies; 500 unless said. */
  casesPerSet?: number;
  /** Differences after which it stops; 10 unless said. */
  maxDifferences?: number;
  onProgress?: (done: number) => void;
}

/** Where somebody did not answer as the first judge. `set` and `seed` make its policies again. */
export interface Difference extends Case {
  seed: number;
  set: number;
  expected: boolean;
  answers: Record<string, boolean>;
  policies: readonly Policy[];
}

export interface Outcome {
  asked: number;
  /** How many of them the first judge allowed. */
  allowed: number;
  differences: Difference[];
}

const settleMs = 30_000;

/** Runs until all cases are asked or enough differ. The judges hold namespaces and RBAC objects of ours afterwards. */
export async function runRbacDiff(run: RbacDiffOptions): Promise<Outcome> {
  const { seed, cases, authorizers, casesPerSet = 500, maxDifferences = 10 } = run;
  const [first] = authorizers;
  const informers = createInformers({ client: first.client, log: run.log });
  const outcome: Outcome = { asked: 0, allowed: 0, differences: [] };
  const parties = authorizers.map((judge) => ({ ...judge, inForce: new Map() as InForce }));
  try {
    const watched = Object.fromEntries(
      Object.entries(rbacKinds).map(([kind, ref]) => [kind, informers.ensure(ref as ResourceRef)]),
    ) as unknown as Record<RbacKind, RbacWatch>;
    const stores = Object.fromEntries(Object.entries(watched).map(([kind, { store }]) => [kind, store])) as Record<
      RbacKind,
      Store
    >;
    const evaluator = { index: createWatchedRbacIndex(stores), authorization: createRbacAuthorizer(watched), stores };
    await Promise.all(authorizers.map(({ client }) => makeNamespaces(client)));
    for (let set = 0; outcome.asked < cases && outcome.differences.length < maxDifferences; set++) {
      await runSet(
        { authorizers: parties, evaluator, seed, set },
        Math.min(casesPerSet, cases - outcome.asked),
        outcome,
      );
      run.onProgress?.(outcome.asked);
    }
  } finally {
    await informers.close();
  }
  return outcome;
}

interface Round {
  authorizers: readonly (ComparedAuthorizer & { inForce: InForce })[];
  evaluator: Evaluator;
  seed: number;
  set: number;
}

/** A set of policies and the questions to it, added to the outcome. */
async function runSet(round: Round, count: number, outcome: Outcome): Promise<void> {
  const { authorizers, evaluator, seed, set } = round;
  const policies = await prepare(round, "first");
  const { allowed, odd } = await compare(
    authorizers,
    evaluator,
    makeCases(createRandom(seed, set, 1), policies, count),
  );
  outcome.asked += count;
  outcome.allowed += allowed;
  if (odd.length === 0) return;
  // The cluster's aggregation may still have been at work: only what differs when it is settled again counts.
  const prepared = await prepare(round, "again");
  const again = await compare(authorizers, evaluator, odd);
  for (const one of again.odd) outcome.differences.push({ seed, set, ...one, policies: prepared });
}

type Mismatch = Case & { expected: boolean; answers: Record<string, boolean> };

/** Asks everybody; `odd` are the cases in which not all said the same. */
async function compare(
  judges: readonly ComparedAuthorizer[],
  evaluator: Evaluator,
  cases: readonly Case[],
): Promise<{ allowed: number; odd: Mismatch[] }> {
  const odd: Mismatch[] = [];
  let allowed = 0;
  await mapLimited(
    cases,
    async ({ user, question }) => {
      const { expected, answers } = await askAll(judges, evaluator, { user, question });
      if (expected) allowed++;
      if (Object.values(answers).some((answer) => answer !== expected)) odd.push({ user, question, expected, answers });
    },
    64,
  );
  return { allowed, odd };
}

interface Evaluator {
  index: ReturnType<typeof createWatchedRbacIndex>;
  authorization: ReturnType<typeof createRbacAuthorizer>;
  stores: Record<RbacKind, Store>;
}

/** Puts one set in force everywhere; returns it with the rules that aggregated roles got. */
async function prepare({ authorizers, evaluator, seed, set }: Round, time: "first" | "again"): Promise<Policy[]> {
  const policies = makePolicies(createRandom(seed, set, 0));
  const applied = await Promise.all(
    authorizers.map(async ({ client, inForce }) => {
      await applyPolicies(client, inForce, policies);
      const roles = await waitForAggregation(client, settleMs);
      return { roles, versions: await waitForAuthorizer(client, `${seed}-${set}-${time}`, settleMs) };
    }),
  );
  const [{ roles, versions }] = applied as [(typeof applied)[0], ...typeof applied];
  await hasSeen(evaluator, versions);
  return policies.map((one) =>
    one.kind === "ClusterRole" ? { ...one, rules: roles.find(({ name }) => name === one.name)?.rules ?? [] } : one,
  );
}

async function hasSeen({ stores }: Evaluator, versions: Versions): Promise<void> {
  const seen = await Promise.all(
    Object.entries(stores).map(([kind, store]) => store.waitForVersion(versions[kind as RbacKind], settleMs)),
  );
  if (!seen.every(Boolean)) throw new Error(`our watches did not reach the last change within ${settleMs / 1000} s`);
}

/** Everybody's answer to one question. Our evaluator answers twice where it has two ways to say it. */
async function askAll(
  judges: readonly ComparedAuthorizer[],
  evaluator: Evaluator,
  { user, question }: Case,
): Promise<{ expected: boolean; answers: Record<string, boolean> }> {
  const [expected = false, ...others] = await Promise.all(
    judges.map(({ client }) => isAllowed(client, user, question)),
  );
  const answers: Record<string, boolean> = { evaluator: evaluator.index.allows(user, question) };
  for (const [at, answer] of others.entries()) answers[judges[at + 1]?.name ?? ""] = answer;
  if (!("path" in question)) Object.assign(answers, otherWays(evaluator, user, question));
  return { expected, answers };
}

/** The API's answers from the index: by kind of resource, by the set of allowed names, and by where a user has bindings at all. */
function otherWays(
  { authorization, index }: Evaluator,
  user: RbacUser,
  question: ResourceAttributes,
): Record<string, boolean> {
  const { verb, group, resource, subresource = "", namespace = "", name = "" } = question;
  const on: ResourceRef = { group, version: "v1", kind: "", plural: resource, namespaced: true };
  const names = authorization.allowedNames(user, { verb, on, subresource, namespace });
  const elsewhere = namespace !== "" && !authorization.namespacesOf(user).includes(namespace);
  return {
    "api/authorization": authorization.allows(user, { verb, on, subresource, namespace, name }),
    allowedNames: names === "all" || names.has(name),
    ...(elsewhere && { namespacesOf: index.allows(user, { ...question, namespace: "" }) }),
  };
}
