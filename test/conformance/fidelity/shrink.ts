// Makes a sequence that shows a difference smaller, step by step and field by field, as long as it still shows it.
import type { Json } from "../kubernetes/api.ts";
import type { Difference } from "./compare.ts";
import type { Step } from "./step.ts";
import { placesOf } from "./values.ts";

export interface Shown {
  steps: Step[];
  difference: Difference;
}

const MOST_TRIES = 250;

/** @param stillShows runs a candidate; undefined when it does not show the difference any more. */
export async function shrink(start: Shown, stillShows: (steps: Step[]) => Promise<Difference | undefined>): Promise<Shown> {
  let best = { ...start, steps: start.steps.slice(0, start.difference.at + 1) };
  let tries = 0;
  for (let progress = true; progress && tries < MOST_TRIES; ) {
    progress = false;
    for (const smaller of candidates(best.steps)) {
      if (++tries > MOST_TRIES) break;
      const difference = await stillShows(smaller);
      if (!difference) continue;
      best = { steps: smaller, difference };
      progress = true;
      break;
    }
  }
  return best;
}

/** Everything that is one cut smaller: without a step, without an option, without a field. */
function* candidates(steps: Step[]): Generator<Step[]> {
  for (let at = 0; at < steps.length; at++) yield steps.toSpliced(at, 1);
  for (const [at, step] of steps.entries()) {
    for (const smaller of smallerSteps(step)) yield steps.toSpliced(at, 1, smaller);
  }
}

const KEPT = new Set(["apiVersion", "kind", "metadata", "name"]);

function* smallerSteps(step: Step): Generator<Step> {
  for (const name of Object.keys(step.query)) {
    const { [name]: _gone, ...query } = step.query;
    yield { ...step, query };
  }
  // Large cuts come first: places near the root.
  for (const path of placesOf(step.body).sort((a, b) => a.length - b.length)) {
    if (path.length <= 2 && KEPT.has(String(path.at(-1)))) continue;
    yield { ...step, body: without(step.body, path) };
  }
}

function without(body: Json, path: (string | number)[]): Json {
  const out = structuredClone(body);
  const holder = path.slice(0, -1).reduce((at: Json, key) => at[key], out);
  const last = path.at(-1) as string;
  if (Array.isArray(holder)) holder.splice(Number(last), 1);
  else delete holder[last];
  return out;
}
