// Whether JSON of somebody else's is small enough for a parser that holds the event loop while it works. Pure.

/** Values, and how deep they are within each other. */
export interface JSONBounds {
  values: number;
  depth: number;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** What of a JSON text is beyond its bounds, in one walk over its bytes; undefined when nothing is. What is no JSON is the parser's to refuse. */
export function findExcess(text: Uint8Array, bounds: JSONBounds): string | undefined {
  let values = 1;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at] as number;
    if (byte === QUOTE) at = endOfString(text, at);
    else if (byte === COMMA) values += 1;
    else if (CLOSING.has(byte)) depth -= 1;
    else if (OPENING.has(byte)) {
      values += 1;
      depth += 1;
    }
    if (values > bounds.values) return `more than ${bounds.values} values`;
    if (depth > bounds.depth) return `more than ${bounds.depth} values within each other`;
  }
  return undefined;
}

/** Where the quote is that ends the string which begins at `start`. */
function endOfString(text: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
  return at;
}
