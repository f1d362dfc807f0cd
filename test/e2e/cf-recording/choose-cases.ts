// Chooses, of all recorded cases, those that are sent again in every run: the others add nothing, since every exchange of theirs is like one of these. Pure.
import { lineWriter } from "./request-line.ts";
import type { ReplayedCase, ReplayedExchange } from "./replay-file.ts";
import type { Template } from "../cf-traffic/traffic.ts";

/** What of an exchange two cases can have in common: endpoint, keys of query and body, status, members of the answer. */
export type KindOf = (exchange: ReplayedExchange) => string;

/** Instances that start, and builds: each as dear as many requests. */
const SLOW = /\/actions\/(start|restart)$|^\/v3\/(builds|deployments)$|\/tasks$/;
const START_COST = 75;
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

/** In their order. Every kind of exchange that a case has is one of a chosen case. */
export function chooseCases(cases: readonly ReplayedCase[], kindOf: KindOf): ReplayedCase[] {
  const candidates = cases.map((one) => ({
    one,
    kinds: new Set(one.exchanges.map(kindOf)),
    cost: one.exchanges.reduce((sum, exchange) => sum + costOf(exchange), 0),
  }));
  const missing = new Set(candidates.flatMap(({ kinds }) => [...kinds]));
  const chosen = new Set<ReplayedCase>();
  while (missing.size > 0) {
    const best = candidates
      .map((candidate) => ({ ...candidate, adds: candidate.kinds.intersection(missing).size }))
      .filter(({ adds }) => adds > 0)
      .reduce((a, b) => (b.cost / b.adds < a.cost / a.adds ? b : a));
    chosen.add(best.one);
    for (const kind of best.kinds) missing.delete(kind);
  }
  return cases.filter((one) => chosen.has(one));
}

function costOf({ request: { method, path } }: ReplayedExchange): number {
  return method !== "GET" && SLOW.test(path.split("?")[0] ?? "") ? START_COST : 1;
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
