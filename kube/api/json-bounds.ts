// Whether a JSON text is deeper or has more values than allowed, told before it is parsed: one pass that builds nothing, so that refusing costs a few milliseconds.

export interface JsonBounds {
  /** Lists and maps inside each other. */
  depth: number;
  /** Values of all kinds, in the whole text. */
  values: number;
  /** Members of one map: a map of many different keys costs several times as much as a list. */
  members: number;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_MAP, CLOSE_MAP] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The first bound that the text exceeds, for a sentence such as "the body has …"; undefined when it exceeds none. The parser refuses broken JSON. */
export function findJsonExcess(text: string, bounds: JsonBounds): string | undefined {
  const state: Scan = { level: 0, values: 1, members: [] };
  for (let at = 0; at < text.length; at++) {
    const mark = text.charCodeAt(at);
    if (mark === QUOTE) at = endOfString(text, at);
    else if (mark === CLOSE_MAP || mark === CLOSE_LIST) state.level = Math.max(0, state.level - 1);
    else if (mark === COMMA || mark === OPEN_MAP || mark === OPEN_LIST) {
      const excess = count(state, mark, bounds);
      if (excess !== undefined) return excess;
    }
  }
  return undefined;
}

interface Scan {
  level: number;
  values: number;
  /** Members of the open maps, by level; those of lists are not counted. */
  members: number[];
}

function count(state: Scan, mark: number, bounds: JsonBounds): string | undefined {
  if (mark !== COMMA) state.members[++state.level] = mark === OPEN_MAP ? 1 : -Infinity;
  else state.members[state.level] = (state.members[state.level] ?? 0) + 1;
  state.values++;
  if (state.level > bounds.depth) return `more than ${bounds.depth} levels`;
  if (state.values > bounds.values) return `more than ${bounds.values} values`;
  return (state.members[state.level] ?? 0) > bounds.members
    ? `an object with more than ${bounds.members} members`
    : undefined;
}

/** Where the string that opens at `start` closes; beyond the text where it does not. */
export function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}
