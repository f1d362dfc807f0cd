// Puts newly recorded cases into the recording that there is: those that were not recorded again stay. Pure.
import type { Replay, ReplayedCase } from "./replay-file.ts";

/** In the order of `known`, new cases last. Cases that are not in `existing` go, and so do uploads that no case needs. */
export function mergeReplay(known: Replay, recorded: Replay, existing: ReadonlySet<string>): Replay {
  const byName = new Map([...known.cases, ...recorded.cases].map((one) => [one.name, one]));
  const cases = withOwnNames([...byName.values()].filter(({ name }) => existing.has(name)));
  const needed = new Set(cases.flatMap(({ exchanges }) => exchanges.flatMap(contentsOf)));
  const uploads = Object.entries({ ...known.uploads, ...recorded.uploads }).filter(([key]) => needed.has(key));
  return { cases, uploads: Object.fromEntries(uploads) };
}

function contentsOf({ request }: ReplayedCase["exchanges"][number]): string[] {
  return (request.form ?? []).flatMap(({ content }) => content ?? []);
}

/** Cases of two groups may have one name, and all are sent to one platform. */
function withOwnNames(cases: readonly ReplayedCase[]): ReplayedCase[] {
  const taken = new Set<string>();
  const free = (own: string): string => (taken.has(own) ? free(`${own}-more`) : own);
  return cases.map((one) => {
    const own = free(one.own);
    taken.add(own);
    return { ...one, own };
  });
}
