// String functions: CEL's own, the strings extension, and Kubernetes' regular expressions. Indexes count code points.
import { LRUCache } from "lru-cache";
import { RE2JS } from "re2js";
import { CelError, isList, type CelValue } from "../values.ts";
import { formatString } from "./format-string.ts";
import { int, list, mismatch, text, type Library } from "./library.ts";

const patterns = new LRUCache<string, RE2JS>({ max: 1000 });

/** RE2, as in Go: no backtracking, so no pattern can hang the server. */
function pattern(source: string): RE2JS {
  let compiled = patterns.get(source);
  if (!compiled) {
    try {
      compiled = RE2JS.compile(source);
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : "invalid";
      throw new CelError(`error parsing regexp: ${message.replace(/^error parsing regexp: /, "")}`, { cause });
    }
    patterns.set(source, compiled);
  }
  return compiled;
}

/** Why a text is no RE2 pattern; undefined when it is one. */
export function patternFault(source: string): string | undefined {
  try {
    pattern(source);
    return undefined;
  } catch (error) {
    if (error instanceof CelError) return error.message;
    throw error;
  }
}

/** Whether an RE2 pattern is well formed, and matches somewhere in the text. */
export function matches(subject: string, source: string): boolean {
  return pattern(source).matcher(subject).find();
}

function findAll(self: CelValue, source: CelValue | undefined, limit: CelValue | undefined): CelValue {
  const most = limit === undefined ? -1 : Number(int(limit));
  const matcher = pattern(text(source)).matcher(text(self));
  const found: string[] = [];
  while ((most < 0 || found.length < most) && matcher.find()) found.push(matcher.group() ?? "");
  return found;
}

function find(self: CelValue, source: CelValue | undefined): CelValue {
  const matcher = pattern(text(source)).matcher(text(self));
  return matcher.find() ? (matcher.group() ?? "") : "";
}

const points = (value: CelValue | undefined): string[] => [...text(value)];

function bounded(index: CelValue | undefined, length: number): number {
  const position = Number(int(index));
  if (position < 0 || position > length) throw new CelError(`index out of range: ${position}`);
  return position;
}

function substring(self: CelValue, from: CelValue | undefined, to: CelValue | undefined): CelValue {
  const all = points(self);
  const start = bounded(from, all.length);
  const end = to === undefined ? all.length : bounded(to, all.length);
  if (start > end) throw new CelError(`invalid substring range. start: ${start}, end: ${end}`);
  return all.slice(start, end).join("");
}

function charAt(self: CelValue, at: CelValue | undefined): CelValue {
  const all = points(self);
  return all[bounded(at, all.length)] ?? "";
}

function startsAt(all: string[], part: string[], at: number): boolean {
  return part.every((point, i) => all[at + i] === point);
}

/** Where a search begins; beyond the end it finds nothing. */
function offset(index: CelValue | undefined): number {
  const position = Number(int(index));
  if (position < 0) throw new CelError(`index out of range: ${position}`);
  return position;
}

function indexOf(self: CelValue, wanted: CelValue | undefined, from: CelValue | undefined): CelValue {
  const [all, part] = [points(self), points(wanted)];
  const start = from === undefined ? 0 : offset(from);
  if (part.length === 0) return BigInt(start);
  for (let at = start; at + part.length <= all.length; at++) if (startsAt(all, part, at)) return BigInt(at);
  return -1n;
}

function lastIndexOf(self: CelValue, wanted: CelValue | undefined, from: CelValue | undefined): CelValue {
  const [all, part] = [points(self), points(wanted)];
  const start = from === undefined ? all.length : offset(from);
  if (part.length === 0) return BigInt(start);
  if (from !== undefined && start >= all.length) return -1n;
  for (let at = Math.min(start, all.length - part.length); at >= 0; at--)
    if (startsAt(all, part, at)) return BigInt(at);
  return -1n;
}

/** Go's SplitN: 0 gives nothing, n the first n-1 and the rest, negative all. */
function split(self: CelValue, separator: CelValue | undefined, limit: CelValue | undefined): CelValue {
  const most = limit === undefined ? -1 : Number(int(limit));
  if (most === 0) return [];
  const parts = text(separator) === "" ? points(self) : text(self).split(text(separator));
  if (most < 0 || parts.length <= most) return parts;
  return [...parts.slice(0, most - 1), parts.slice(most - 1).join(text(separator))];
}

function replace(
  self: CelValue,
  from: CelValue | undefined,
  to: CelValue | undefined,
  limit: CelValue | undefined,
): CelValue {
  const most = limit === undefined ? -1 : Number(int(limit));
  const parts = text(from) === "" ? ["", ...points(self), ""] : text(self).split(text(from));
  if (most < 0 || parts.length <= most + 1) return parts.join(text(to));
  return [parts.slice(0, most + 1).join(text(to)), ...parts.slice(most + 1)].join(text(from));
}

function join(self: CelValue, separator: CelValue | undefined): CelValue {
  return list(self)
    .map((item) => text(item))
    .join(separator === undefined ? "" : text(separator));
}

const quoted: Record<string, string> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

function quote(value: CelValue | undefined): CelValue {
  return `"${text(value)
    .toWellFormed()
    .replace(/[\u0007-\r\\"]/g, (letter) => quoted[letter] ?? letter)}"`;
}

const space = /\p{White_Space}/u;

/** Without Unicode's white space at both ends, which is JavaScript's but for U+0085 and U+FEFF. No pattern with `$`: it would be quadratic. */
function trim(self: CelValue): CelValue {
  const source = text(self);
  let [start, end] = [0, source.length];
  while (start < end && space.test(source.charAt(start))) start++;
  while (end > start && space.test(source.charAt(end - 1))) end--;
  return source.slice(start, end);
}

const ascii = (change: (letter: string) => string, letters: RegExp) => (self: CelValue) =>
  text(self).replace(letters, change);

export const strings: Library = {
  functions: {
    matches: (self, source) => matches(text(self), text(source)),
    "strings.quote": quote,
  },
  methods: {
    string: {
      matches: (self, source) => matches(text(self), text(source)),
      find,
      findAll,
      startsWith: (self, part) => text(self).startsWith(text(part)),
      endsWith: (self, part) => text(self).endsWith(text(part)),
      contains: (self, part) => text(self).includes(text(part)),
      charAt,
      indexOf,
      lastIndexOf,
      lowerAscii: ascii((letter) => letter.toLowerCase(), /[A-Z]/g),
      upperAscii: ascii((letter) => letter.toUpperCase(), /[a-z]/g),
      replace,
      split,
      substring,
      trim,
      format: (self, args) => formatString(text(self), args !== undefined && isList(args) ? args : mismatch(args)),
    },
    list: { join },
  },
};
