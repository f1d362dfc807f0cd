// Chooses, of all recorded cases, those that are sent again in every run: the others start apps and add nothing, since every exchange of theirs is like one of these. Pure.
import { lineWriter } from "./request-line.ts";
import type { ReplayedCase, ReplayedExchange } from "./replay-file.ts";
import type { Template } from "../cf-traffic/traffic.ts";

/** Parts of an exchange that two cases can have in common: endpoint, keys of query and body, status, members of the answer. */
export type KindOf = (exchange: ReplayedExchange) => string;

/** Instances that start, and builds: each takes as long as many requests. */
const SLOW = /\/actions\/(start|restart)$|^\/v3\/(builds|deployments)$|\/tasks$/;
const REQUESTS_OF_A_START = 40;
/** Members that hold what people call as they like. */
const FREE_MEMBERS = /^(labels|annotations|var|environment_variables|\w+_env_json)$/;
/** A list stands in a template as the only member of an object. */
const LIST = /^<.*>$/;

export function kindWriter(endpoints: Parameters<typeof lineWriter>[0]): KindOf {
  const toLine = lineWriter(endpoints);
  return ({ request, status, body }) => {
    const members = [...new Set(membersOf(body, ""))].sort();
    return `${toLine({ request, answer: { status, headers: {}, body } })} [${members.join(" ")}]`;
  };
}

export interface Choice {
  isNeeded?(one: ReplayedCase): boolean;
  /** Leaves out those that start nothing, too, when others show all that they do. */
  fewest?: boolean;
}

/**
 * In their order: those that start nothing, those that `isNeeded` names, and of the others as many as show what these do not. Every kind of exchange that a
 * case has is one of a chosen case.
 */
export function chooseCases(
  cases: readonly ReplayedCase[],
  kindOf: KindOf,
  { isNeeded = () => false, fewest = false }: Choice = {},
): ReplayedCase[] {
  const candidates = cases.map((one) => ({
    one,
    kinds: new Set(one.exchanges.map(kindOf)),
    starts: startsOf(one),
    cost: startsOf(one) + one.exchanges.length / REQUESTS_OF_A_START,
  }));
  const isChosen = ({ one, starts }: (typeof candidates)[number]): boolean =>
    (starts === 0 && !fewest) || isNeeded(one);
  const chosen = new Set(candidates.filter(isChosen));
  const others = candidates.filter((candidate) => !chosen.has(candidate));
  const missing = new Set(others.flatMap(({ kinds }) => [...kinds]));
  for (const { kinds } of chosen) for (const kind of kinds) missing.delete(kind);
  while (missing.size > 0) {
    const best = others
      .map((candidate) => ({ candidate, adds: candidate.kinds.intersection(missing).size }))
      .filter(({ adds }) => adds > 0)
      .reduce((a, b) => (b.candidate.cost / b.adds < a.candidate.cost / a.adds ? b : a)).candidate;
    chosen.add(best);
    for (const kind of best.kinds) missing.delete(kind);
  }
  return candidates.filter((candidate) => chosen.has(candidate)).map(({ one }) => one);
}

/** How many times it starts instances, or a build. */
function startsOf({ exchanges }: ReplayedCase): number {
  return exchanges.filter(({ request: { method, path } }) => method !== "GET" && SLOW.test(path.split("?")[0] ?? ""))
    .length;
}

/** Dotted paths to the leaves. */
function membersOf(value: Template, path: string): string[] {
  if (Array.isArray(value)) return (value as readonly Template[]).flatMap((one) => membersOf(one, path));
  if (typeof value !== "object" || value === null) return path === "" ? [] : [path];
  return Object.entries(value).flatMap(([name, member]: [string, Template]) => {
    if (LIST.test(name)) return membersOf(member, path);
    const inner = path === "" ? name : `${path}.${name}`;
    return FREE_MEMBERS.test(name) ? [inner] : membersOf(member, inner);
  });
}
