// Lines on a terminal after a program has written to it: the few control sequences that `cup` uses. Pure.

/** Text of one look. `colour` is a name of SGR's eight colours. */
export interface Span {
  text: string;
  colour?: string;
  isBold?: true;
  isDim?: true;
}

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

type Look = Omit<Span, "text">;

interface Cell {
  char: string;
  look: Look;
}

/** The lines as spans, wrapped at `columns`. */
export function toTerminalLines(output: string, columns: number): Span[][] {
  const lines: Cell[][] = [[]];
  let look: Look = {};
  let column = 0;
  for (const [token, codes] of output.matchAll(/\x1b\[([\d;]*)[A-Za-z]|[^]/gu)) {
    if (codes !== undefined) {
      if (token.endsWith("m")) look = applyCodes(look, codes);
    } else if (token === "\r") column = 0;
    else if (token === "\n") {
      lines.push([]);
      column = 0;
    } else {
      if (column === columns) {
        lines.push([]);
        column = 0;
      }
      const line = lines.at(-1) ?? [];
      line[column++] = { char: token, look };
    }
  }
  return lines.map(toSpans);
}

function applyCodes(look: Look, codes: string): Look {
  return codes.split(";").reduce((before, text) => applyCode(before, Number(text || "0")), look);
}

function applyCode({ isBold: _bold, isDim: _dim, colour, ...rest }: Look, code: number): Look {
  const weight = { ...(_bold && { isBold: _bold }), ...(_dim && { isDim: _dim }) };
  const kept = { ...rest, ...(colour !== undefined && { colour }) };
  if (code === 0) return {};
  if (code === 1) return { ...kept, ...weight, isBold: true };
  if (code === 2) return { ...kept, ...weight, isDim: true };
  if (code === 22) return kept;
  const named = COLOURS[code - 30];
  return { ...rest, ...weight, ...(named !== undefined && { colour: named }) };
}

/** Neighbours of one look are one span; blanks at the end are left out. */
function toSpans(cells: readonly (Cell | undefined)[]): Span[] {
  const spans: Span[] = [];
  for (const { char, look } of Array.from(cells, (cell) => cell ?? { char: " ", look: {} })) {
    const last = spans.at(-1);
    if (last && sameLook(last, look)) last.text += char;
    else spans.push({ text: char, ...look });
  }
  const last = spans.at(-1);
  if (last) last.text = last.text.trimEnd();
  return spans.filter(({ text }) => text !== "");
}

function sameLook(one: Look, other: Look): boolean {
  return one.colour === other.colour && one.isBold === other.isBold && one.isDim === other.isDim;
}
