// Lays an applied configuration over a live value: granular maps and list-maps merge, everything else is replaced.
import { partOf, type TypeView } from "./type-view.ts";
import { entryView, findElement, isMap, itemsByElement, type JsonMap } from "./values.ts";

/** The merged value; undefined stands for absent on both sides and in the result. Inputs are not changed, but parts of them are shared. */
export function mergeValues(view: TypeView, live: unknown, config: unknown): unknown {
  if (config === undefined) return live;
  return isNothing(live) && isNothing(config) ? config : mergeParts(view, live, config);
}

function mergeParts(view: TypeView, live: unknown, config: unknown): unknown {
  const part = partOf(view, config === null ? live : config);
  if (part === undefined || part === "scalar" || isAtomic(view, part)) return config;
  const fitsLive = part === "map" ? isMap(live) : Array.isArray(live);
  // The shapes differ, so the configuration replaces the live value.
  if (isNothing(config) && !fitsLive) return config;
  return (part === "map" ? mergeMaps : mergeLists)(view, live, config);
}

const isAtomic = (view: TypeView, part: "map" | "list") =>
  part === "map" ? view.map?.atomic === true : view.list?.relation === "atomic";

function isNothing(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isMap(value)) return Object.keys(value).length === 0;
  return value === undefined || value === null;
}

function mergeMaps(view: TypeView, live: unknown, config: unknown): unknown {
  const map = view.map;
  const left = isMap(live) ? live : {};
  const right = isMap(config) ? config : {};
  const out: JsonMap = {};
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const merged = map ? mergeValues(entryView(map, key), left[key], right[key]) : right[key];
    if (merged !== undefined) out[key] = merged;
  }
  return Object.keys(out).length > 0 ? out : undefined;
}

function mergeLists(view: TypeView, live: unknown, config: unknown): unknown {
  const list = view.list;
  if (!list) return config;
  const lefts = (Array.isArray(live) ? (live as unknown[]) : []).map((item): Placed => ({
    element: findElement(list, item) ?? "",
    item,
  }));
  const right = itemsByElement(list, Array.isArray(config) ? (config as unknown[]) : []);
  const left = Map.groupBy(lefts, ({ element }) => element);
  const out = mergedOrder(lefts, [...right.keys()]).map(({ element, item }) => {
    const mine = right.get(element);
    if (!mine) return item;
    const theirs = left.get(element);
    // Duplicates are not merged with: the configuration replaces them.
    return mergeValues(list.element(), theirs?.length === 1 ? theirs[0]?.item : undefined, mine[0]) ?? {};
  });
  return out.length > 0 ? out : undefined;
}

interface Placed {
  element: string;
  item?: unknown;
}

/** Items of the configuration keep its order; live items that it does not name keep their place before the next shared one. */
function mergedOrder(live: Placed[], config: string[]): Placed[] {
  const wanted = new Set(config);
  const present = new Set(live.map(({ element }) => element));
  const placed = new Set<string>();
  const out: Placed[] = [];
  let at = 0;
  /** Moves on to the next live item that stops; strangers on the way are kept, shared ones wait for their turn. */
  const advance = (stops: (element: string) => boolean) => {
    for (let next = live[at]; next && !stops(next.element); next = live[++at])
      if (!wanted.has(next.element)) out.push(next);
  };
  for (const element of config) {
    advance((each) => wanted.has(each) && !placed.has(each));
    if (present.has(element)) advance((each) => each === element);
    out.push({ element });
    placed.add(element);
  }
  advance(() => false);
  return out;
}
