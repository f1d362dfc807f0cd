// Random constraints and writes, judged by kube-apiserver and by our evaluator: the same verdict, the same sentences.
import type { JudgingConstraint } from "../../../crds/policy-template/evaluate.ts";
import { findSubject } from "../../../crds/policy-template/subjects.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { resourcePath } from "../../../kube/api/resource-ref.ts";
import { createRandom, type Random } from "../rbac/random.ts";
import { expectDone, inParallel, judgeOurselves, type PolicyWorld, type Seen, type Write } from "./policy-world.ts";
import { makeConstraint } from "./random-constraints.ts";
import { changeObject, KINDS, makeRandomObject, rename } from "./random-writes.ts";

export interface DifferentialOptions {
  seed: number;
  /** Writes that are judged by both. */
  writes: number;
  writesPerRound?: number;
  onProgress?: (done: number) => void;
}

export interface Difference {
  round: number;
  /** By kind and name of the constraint. */
  specs: Record<string, unknown>;
  write: Write;
  kubeApiserver: Seen | string;
  ours: Seen;
}

export interface DifferentialResult {
  writes: number;
  denied: number;
  warnings: number;
  /** Changes that the kind's own schema refuses are judged by no policy. */
  invalid: number;
  differences: Difference[];
}

const CONSTRAINTS = 12;
const STORED_OF_KIND = 4;

/** Stores objects, then compares rounds of constraints and writes. */
export async function runDifferential(
  world: PolicyWorld,
  { seed, writes, writesPerRound = 200, onProgress }: DifferentialOptions,
): Promise<DifferentialResult> {
  const result: DifferentialResult = { writes: 0, denied: 0, warnings: 0, invalid: 0, differences: [] };
  await world.enforce([]);
  const stored = await storeObjects(world, createRandom(seed));
  for (let round = 0; result.writes < writes; round++) {
    const random = createRandom(seed, round + 1);
    const constraints = Array.from({ length: CONSTRAINTS }, (_, at) => makeConstraint(random, at));
    await world.enforce(constraints);
    const count = Math.min(writesPerRound, writes - result.writes);
    const drafts = Array.from({ length: count }, (_, at) => makeWrite(random, stored, at));
    await inParallel(drafts, (write) => compare(world, { round, constraints, write }, result));
    onProgress?.(result.writes);
  }
  return result;
}

async function storeObjects({ api }: PolicyWorld, random: Random): Promise<KubeObject[]> {
  const drafts = KINDS.flatMap((kind) => Array.from({ length: STORED_OF_KIND }, () => makeRandomObject(random, kind)));
  const stored: KubeObject[] = [];
  for (const [at, draft] of drafts.entries()) {
    const { namespace = "" } = draft.metadata;
    const definition = findSubject(draft.kind);
    if (!definition) throw new Error(`${draft.kind} is no subject`);
    const named = rename(draft, `stored-${at}`);
    stored.push((await expectDone(api.post(resourcePath(definition, { namespace }), named))).body as KubeObject);
  }
  return stored;
}

function makeWrite(random: Random, stored: readonly KubeObject[], at: number): Write {
  if (random.chance(40)) {
    const oldObject = random.pick(stored);
    return { object: changeObject(random, oldObject), oldObject };
  }
  const object = makeRandomObject(random);
  // Stored objects have other names, so that a create meets none; two dry runs at once do not meet either.
  return random.chance(30) ? { object: rename(object, `n-${at}`) } : { object };
}

interface Compared {
  round: number;
  constraints: readonly JudgingConstraint[];
  write: Write;
}

async function compare(
  world: PolicyWorld,
  { round, constraints, write }: Compared,
  result: DifferentialResult,
): Promise<void> {
  const { namespace = "" } = write.object.metadata;
  const ours = judgeOurselves(constraints, write, world.namespaces.get(namespace));
  const seen = await world.judge(write).catch((error: unknown) => String(error));
  if (typeof seen === "string" && seen.includes("no policy's refusal: 422")) {
    result.invalid++;
    return;
  }
  result.writes++;
  if (typeof seen !== "string" && isSame(seen, ours)) {
    result.denied += seen.allowed ? 0 : 1;
    result.warnings += seen.warnings.length;
    return;
  }
  const specs = Object.fromEntries(
    constraints.map(({ constraint: { kind, metadata, spec } }) => [`${kind} ${metadata.name}`, spec]),
  );
  result.differences.push({ round, specs, write, kubeApiserver: seen, ours });
}

/** A refusal has the first sentence of each policy that denies, ours has all. */
function isSame(seen: Seen, ours: Seen): boolean {
  return (
    seen.allowed === ours.allowed &&
    seen.sentences.every((one) => ours.sentences.includes(one)) &&
    JSON.stringify(seen.warnings) === JSON.stringify(ours.warnings)
  );
}
