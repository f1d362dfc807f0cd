// Makes a sequence that shows a difference smaller, step by step and field by field, as long as it still shows it.
import type { Json } from "../kubernetes/api.ts";
import type { Difference } from "./compare.ts";
import type { Step } from "./step.ts";
import { listPaths } from "./values.ts";

export interface Shown {
  steps: Step[];
  difference: Difference;
}

const MOST_TRIES = 250;

type Try = (steps: Step[]) => Promise<Difference | undefined>;

/** @param stillShows runs a candidate; undefined when it does not show the difference any more. */
export async function shrink(start: Shown, stillShows: Try): Promise<Shown> {
  let tries = 0;
  let best: Shown = { ...start, steps: start.steps.slice(0, start.difference.at + 1) };
  /** Takes a candidate over when it still shows the difference. */
  const attempt = async (steps: Step[]) => {
    const difference = ++tries > MOST_TRIES ? undefined : await stillShows(steps);
    if (difference) best = { steps, difference };
    return difference !== undefined;
  };
  for (let at = best.steps.length - 2; at >= 0; at--) await attempt(best.steps.toSpliced(at, 1));
  for (let at = best.steps.length - 1; at >= 0; at--) await shrinkStep(() => best.steps, at, attempt);
  return best;
}

/** Options, then fields, the ones near the root first. */
async function shrinkStep(
  steps: () => Step[],
  at: number,
  attempt: (steps: Step[]) => Promise<boolean>,
): Promise<void> {
  const here = () => steps()[at] as Step;
  for (const name of Object.keys(here().query)) {
    const { [name]: _gone, ...query } = here().query;
    await attempt(steps().toSpliced(at, 1, { ...here(), query }));
  }
  const tried = new Set<string>();
  for (;;) {
    const path = listPaths(here().body)
      .filter((each) => !tried.has(each.join("\0")) && !(each.length <= 2 && KEPT.has(String(each.at(-1)))))
      .sort((a, b) => a.length - b.length)[0];
    if (!path) return;
    const isGone = await attempt(steps().toSpliced(at, 1, { ...here(), body: without(here().body, path) }));
    // In a list the next item moves up to the same place.
    if (!isGone) tried.add(path.join("\0"));
  }
}

const KEPT = new Set(["apiVersion", "kind", "metadata", "name"]);

function without(body: Json, path: (string | number)[]): Json {
  const out = structuredClone(body);
  const holder = path.slice(0, -1).reduce((at: Json, key) => at[key], out);
  const last = path.at(-1) as string;
  if (Array.isArray(holder)) holder.splice(Number(last), 1);
  else delete holder[last];
  return out;
}
