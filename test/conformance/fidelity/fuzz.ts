// The loop: many sequences at once against both servers, what differs, and the smallest sequence that shows it.
import type { Api } from "../kubernetes/api.ts";
import { deviationsOf, type Difference, signatureOf } from "./compare.ts";
import { KNOWN_DIFFERENCES } from "./known-differences.ts";
import { cleanUpSteps, runSequence } from "./runner.ts";
import { sequenceOf } from "./sequence.ts";
import { shrink } from "./shrink.ts";
import type { Step } from "./step.ts";

export interface Pair {
  embedded: Api;
  real: Api;
}

export interface FuzzOptions {
  seed: number;
  /** How many sequences, from number `first` on. */
  sequences: number;
  first?: number;
  /** Names of kinds; all unless said. */
  kinds?: string[];
  /** Sequences in flight. */
  parallel?: number;
  /** How many of the different differences are shrunk. */
  shrunk?: number;
  onProgress?: (done: number) => void;
}

/** Differences that look alike. */
export interface Finding {
  signature: string;
  /** The first sequence that showed it. */
  index: number;
  count: number;
  steps: Step[];
  difference: Difference;
}

export interface FuzzResult {
  sequences: number;
  steps: number;
  /** Sequences with a difference that nothing explains. */
  differences: number;
  findings: Finding[];
  /** How often each known difference was met, by name. */
  explained: Map<string, number>;
}

let runs = 0;

/** Runs a sequence on both servers, each time in a namespace that is new. */
export async function differenceOf(pair: Pair, steps: readonly Step[]): Promise<Difference | undefined> {
  const ns = `f${process.pid.toString(36)}-${++runs}`;
  const [embedded, real] = await Promise.all([
    runSequence(pair.embedded, ns, steps),
    runSequence(pair.real, ns, steps),
  ]);
  const all = [...steps, ...cleanUpSteps(steps)];
  for (const [at, step] of all.entries()) {
    const [ours, theirs] = [embedded[at], real[at]];
    if (!ours || !theirs) continue;
    const deviations = deviationsOf(ours, theirs);
    if (deviations.length > 0) return { at, step, deviations, embedded: ours, real: theirs };
  }
  return undefined;
}

export async function fuzz(pair: Pair, options: FuzzOptions): Promise<FuzzResult> {
  const { seed, sequences, first = 0, parallel = 16, kinds } = options;
  const result: FuzzResult = { sequences, steps: 0, differences: 0, findings: [], explained: new Map() };
  const found = new Map<string, Finding>();
  let next = first;
  let done = 0;
  const worker = async () => {
    for (let index = next++; index < first + sequences; index = next++) {
      const steps = sequenceOf(seed, index, kinds);
      const difference = await differenceOf(pair, steps);
      result.steps += steps.length;
      if (difference) note(result, found, { steps, difference, index });
      options.onProgress?.(++done);
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  result.findings = [...found.values()].sort((a, b) => b.count - a.count);
  const toShrink = result.findings.slice(0, options.shrunk ?? 5);
  const shrinker = async () => {
    for (let finding = toShrink.shift(); finding; finding = toShrink.shift()) await shrinkFinding(pair, finding);
  };
  await Promise.all(Array.from({ length: 8 }, shrinker));
  return result;
}

function note(
  result: FuzzResult,
  found: Map<string, Finding>,
  { steps, difference, index }: Pick<Finding, "steps" | "difference" | "index">,
): void {
  const known = KNOWN_DIFFERENCES.find((each) => each.explains?.(difference));
  if (known) {
    result.explained.set(known.name, (result.explained.get(known.name) ?? 0) + 1);
    return;
  }
  result.differences += 1;
  const signature = signatureOf(difference);
  const before = found.get(signature);
  if (before) before.count += 1;
  else found.set(signature, { signature, index, count: 1, steps, difference });
}

async function shrinkFinding(pair: Pair, finding: Finding): Promise<void> {
  const stillShows = async (steps: Step[]) => {
    const difference = await differenceOf(pair, steps);
    return difference && signatureOf(difference) === finding.signature ? difference : undefined;
  };
  Object.assign(finding, await shrink({ steps: finding.steps, difference: finding.difference }, stillShows));
}
