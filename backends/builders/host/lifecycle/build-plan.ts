// Resolves what the buildpacks of a group provide and require into a build plan. Pure.

/** A named need and what the buildpack that has it says of it. */
export interface Requirement {
  name: string;
  metadata: Record<string, unknown>;
}

/** One way a buildpack can take part. */
export interface Alternative {
  provides: string[];
  requires: Requirement[];
}

/** A buildpack that passed detection; the first alternative is tried first. `key` names it within the group. */
export interface Candidate {
  key: string;
  optional: boolean;
  alternatives: Alternative[];
}

/** A dependency, who provides it (in order), and all that is required of it. */
export interface PlanEntry {
  name: string;
  providers: string[];
  requires: Requirement[];
}

/** Who builds, in order, and the plan. */
export interface Resolution {
  members: string[];
  plan: PlanEntry[];
}

interface Part extends Alternative {
  key: string;
  optional: boolean;
}

const maxTrials = 10_000;

/** The first trial, alternatives taken left to right and depth-first, that works out. Otherwise what was wrong with the last one. */
export function resolvePlan(candidates: readonly Candidate[]): Resolution | { problem: string } {
  let problem = "no buildpack takes part";
  let trials = 0;
  for (const parts of combinations(candidates)) {
    const outcome = tryParts(parts);
    if ("members" in outcome) return outcome;
    problem = outcome.problem;
    if ((trials += 1) >= maxTrials) return { problem: `none of the first ${maxTrials} combinations fits; the last one: ${problem}` };
  }
  return { problem };
}

function* combinations(candidates: readonly Candidate[]): Generator<Part[]> {
  const [first, ...rest] = candidates;
  if (!first) return yield [];
  for (const alternative of first.alternatives) {
    for (const tail of combinations(rest)) yield [{ key: first.key, optional: first.optional, ...alternative }, ...tail];
  }
}

/** Drops optional parts that do not fit until all fit, or a required one does not. */
function tryParts(parts: readonly Part[]): Resolution | { problem: string } {
  let left = [...parts];
  for (;;) {
    const misfits = left.map((part, index) => ({ part, problem: misfit(left, index) })).filter((one) => one.problem !== undefined);
    const fatal = misfits.find((one) => !one.part.optional);
    if (fatal) return { problem: `${fatal.part.key} ${fatal.problem ?? ""}` };
    if (misfits.length === 0) break;
    const dropped = new Set(misfits.map((one) => one.part));
    left = left.filter((part) => !dropped.has(part));
  }
  if (left.length === 0) return { problem: "no buildpack takes part" };
  return { members: left.map((part) => part.key), plan: toPlan(left) };
}

function misfit(parts: readonly Part[], index: number): string | undefined {
  const part = parts[index];
  const earlier = new Set(parts.slice(0, index + 1).flatMap((one) => one.provides));
  const later = new Set(parts.slice(index).flatMap((one) => one.requires.map((need) => need.name)));
  const unprovided = part?.requires.find((need) => !earlier.has(need.name));
  if (unprovided) return `requires ${unprovided.name}, which no buildpack before it provides`;
  const unrequired = part?.provides.find((name) => !later.has(name));
  return unrequired === undefined ? undefined : `provides ${unrequired}, which no buildpack after it requires`;
}

function toPlan(parts: readonly Part[]): PlanEntry[] {
  const plan = new Map<string, PlanEntry>();
  for (const part of parts) {
    for (const name of new Set(part.provides)) {
      const entry = plan.get(name) ?? { name, providers: [], requires: [] };
      plan.set(name, { ...entry, providers: [...entry.providers, part.key] });
    }
    // A provider is always before or at its requirer, so the entry is there.
    for (const need of part.requires) plan.get(need.name)?.requires.push(need);
  }
  return [...plan.values()];
}

/** What `key` gets in its buildpack plan. */
export function entriesFor(plan: readonly PlanEntry[], key: string): Requirement[] {
  return plan.filter((entry) => entry.providers.includes(key)).flatMap((entry) => entry.requires);
}

/** The plan after `key` has built: what it met is gone, what it named in build.toml as unmet stays for the next provider. */
export function afterBuild(plan: readonly PlanEntry[], key: string, unmet: readonly string[]): PlanEntry[] {
  return plan.filter((entry) => !entry.providers.includes(key) || unmet.includes(entry.name));
}
