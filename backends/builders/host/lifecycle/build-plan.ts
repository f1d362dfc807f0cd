// Resolves the provides and requires of a group of buildpacks into a build plan. Pure.

/** A required dependency with the metadata of the buildpack that requires it. */
export interface Requirement {
  name: string;
  metadata: Record<string, unknown>;
}

/** An alternative of a buildpack's detection. */
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

/** A dependency, its providers in order, and its requirements. */
export interface PlanEntry {
  name: string;
  providers: string[];
  requires: Requirement[];
}

/** The buildpacks that build, in order, and the plan. */
export interface Resolution {
  members: string[];
  plan: PlanEntry[];
}

interface TrialMember extends Alternative {
  key: string;
  optional: boolean;
}

const maxTrials = 10_000;

/** The first combination of alternatives (left to right, depth-first) that resolves; otherwise the problem of the last one. */
export function resolvePlan(candidates: readonly Candidate[]): Resolution | { problem: string } {
  let problem = "no buildpack takes part";
  let trials = 0;
  for (const members of listCombinations(candidates)) {
    const outcome = tryCombination(members);
    if ("members" in outcome) return outcome;
    problem = outcome.problem;
    if ((trials += 1) >= maxTrials)
      return { problem: `none of the first ${maxTrials} combinations fits; the last one: ${problem}` };
  }
  return { problem };
}

function* listCombinations(candidates: readonly Candidate[]): Generator<TrialMember[]> {
  const [first, ...rest] = candidates;
  if (!first) return yield [];
  for (const alternative of first.alternatives) {
    for (const tail of listCombinations(rest))
      yield [{ key: first.key, optional: first.optional, ...alternative }, ...tail];
  }
}

/** Drops optional buildpacks that do not fit, until all fit or a required one does not. */
function tryCombination(members: readonly TrialMember[]): Resolution | { problem: string } {
  let remaining = [...members];
  for (;;) {
    const conflicts = remaining
      .map((member, index) => ({ part: member, problem: findConflict(remaining, index) }))
      .filter((one) => one.problem !== undefined);
    const fatal = conflicts.find((one) => !one.part.optional);
    if (fatal) return { problem: `${fatal.part.key} ${fatal.problem ?? ""}` };
    if (conflicts.length === 0) break;
    const dropped = new Set(conflicts.map((one) => one.part));
    remaining = remaining.filter((member) => !dropped.has(member));
  }
  if (remaining.length === 0) return { problem: "no buildpack takes part" };
  return { members: remaining.map((member) => member.key), plan: toPlan(remaining) };
}

function findConflict(members: readonly TrialMember[], index: number): string | undefined {
  const member = members[index];
  const earlier = new Set(members.slice(0, index + 1).flatMap((candidate) => candidate.provides));
  const later = new Set(members.slice(index).flatMap((candidate) => candidate.requires.map((need) => need.name)));
  const unprovided = member?.requires.find((need) => !earlier.has(need.name));
  if (unprovided) return `requires ${unprovided.name}, which no buildpack before it provides`;
  const unrequired = member?.provides.find((name) => !later.has(name));
  return unrequired === undefined ? undefined : `provides ${unrequired}, which no buildpack after it requires`;
}

function toPlan(members: readonly TrialMember[]): PlanEntry[] {
  const plan = new Map<string, PlanEntry>();
  for (const member of members) {
    for (const name of new Set(member.provides)) {
      const entry = plan.get(name) ?? { name, providers: [], requires: [] };
      plan.set(name, { ...entry, providers: [...entry.providers, member.key] });
    }
    // A provider is at or before its requirer, so the entry exists.
    for (const need of member.requires) plan.get(need.name)?.requires.push(need);
  }
  return [...plan.values()];
}

/** The buildpack plan of `key`. */
export function entriesFor(plan: readonly PlanEntry[], key: string): Requirement[] {
  return plan.filter((entry) => entry.providers.includes(key)).flatMap((entry) => entry.requires);
}

/** The plan after `key` has built, without the entries that it met. Entries that its build.toml names as unmet stay for the next provider. */
export function withoutMet(plan: readonly PlanEntry[], key: string, unmet: readonly string[]): PlanEntry[] {
  return plan.filter((entry) => !entry.providers.includes(key) || unmet.includes(entry.name));
}
