// Lays an applied configuration over a live value: granular maps and list-maps merge, everything else is replaced.
import { partOf, type TypeView } from "./type-view.ts";
import { elementOf, entryView, isMap, itemsByElement, type JsonMap } from "./values.ts";

/** The merged value; undefined stands for absent on both sides and in the result. Inputs are not changed, but parts of them are shared. */
export function mergeValues(view: TypeView, live: unknown, config: unknown): unknown {
  if (config === undefined) return live;
  if (live === undefined && !needsDescent(view, config)) return config;
  const part = config === null ? partOf(view, live) : partOf(view, config);
  if (part === "map" && !view.map?.atomic && !(isNothing(live) && isNothing(config))) return mergeMaps(view, live, config);
  if (part === "list" && view.list && view.list.relation !== "atomic" && !(isNothing(live) && isNothing(config))) return mergeLists(view, live, config);
  return config;
}

/** Without a live value only lists have to be looked at: their items may repeat a key, which is refused. */
function needsDescent(view: TypeView, config: unknown): boolean {
  return typeof config === "object" && config !== null && view.scalar === undefined;
}

const isNothing = (value: unknown) =>
  value === undefined || value === null || (Array.isArray(value) ? value.length === 0 : isMap(value) && Object.keys(value).length === 0);

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
  const lefts = Array.isArray(live) ? (live as unknown[]) : [];
  const rights = Array.isArray(config) ? (config as unknown[]) : [];
  const right = itemsByElement(list, rights);
  for (const [element, same] of right) if (same.length > 1) throw new Error(`duplicate entries for key ${element.slice(2)}`);
  const left = itemsByElement(list, lefts);
  const out: unknown[] = [];
  for (const { element, item } of mergedOrder(lefts.map((entry) => ({ element: elementOf(list, entry), item: entry })), [...right.keys()])) {
    const mine = right.get(element);
    if (!mine) out.push(item);
    else {
      const theirs = left.get(element);
      const merged = mergeValues(list.element(), theirs?.length === 1 ? theirs[0] : undefined, mine[0]);
      out.push(merged === undefined ? {} : merged);
    }
  }
  return out.length > 0 ? out : undefined;
}

interface Placed {
  element: string;
  item?: unknown;
}

/** Items of the configuration keep its order; live items that it does not name keep their place before the next shared one. */
function mergedOrder(live: Placed[], config: string[]): Placed[] {
  const inLive = new Set(live.map(({ element }) => element));
  const inConfig = new Set(config);
  const shared = config.filter((element) => inLive.has(element));
  const out: Placed[] = [];
  const placed = new Set<string>();
  let l = 0;
  let c = 0;
  let next = shared.shift();
  const takeConfig = (element: string) => {
    out.push({ element });
    placed.add(element);
    c += 1;
    if (next === element) next = shared.shift();
  };
  while (l < live.length || c < config.length) {
    const theirs = live[l];
    const mine = config[c];
    if (theirs && !inConfig.has(theirs.element)) {
      out.push(theirs);
      l += 1;
    } else if (theirs && (placed.has(theirs.element) || (mine !== undefined && theirs.element !== mine && next !== theirs.element))) {
      l += 1;
    } else if (mine !== undefined) {
      if (theirs?.element === mine) l += 1;
      takeConfig(mine);
    } else l += 1;
  }
  return out;
}
