// Bodies of at most a mebibyte that cost the most to read: deep, many, long, twice, or nearly right.
import type { Schema } from "../fuzz-api/openapi.ts";

export const MEBIBYTE = 1024 * 1024;

/** A body by what it is. */
export type Bodies = Record<string, string>;
/** The same, made only when it is sent: all together would not fit into memory. */
export type LazyBodies = Record<string, () => string>;

/** How much of each thing: to the limit of a body's size, or of what is parsed at all. */
export interface Amount {
  bytes: number;
  /** Values in all. */
  values: number;
  /** Members of one map. */
  members: number;
}

const BY_SIZE: Amount = { bytes: MEBIBYTE, values: Infinity, members: Infinity };
/** A little less than what the API parses. */
export const PARSED_BY_API: Amount = { bytes: MEBIBYTE - 5_000, values: 39_500, members: 9_900 };
/** A little less than what the embedded API server parses of an object. */
export const PARSED_BY_SERVER: Amount = { bytes: MEBIBYTE - 5_000, values: 9_500, members: 4_900 };

/** Parts that are made by their number, as many as the amount allows. */
function fillNumbered(start: string, part: (at: number) => string, end: string, most: Omit<Amount, "members">): string {
  const parts: string[] = [];
  let left = most.bytes - start.length - end.length;
  for (let at = 0; at < most.values; at++) {
    const next = part(at);
    left -= next.length;
    if (left <= 0) break;
    parts.push(next);
  }
  return start + parts.join("") + end;
}

function fill(start: string, part: string, end = "", most: Omit<Amount, "members"> = BY_SIZE): string {
  return fillNumbered(start, () => part, end, most);
}

/** Values of JSON that are long in one way each. */
export function longValues({ bytes, values, members }: Amount): Bodies {
  const list = (item: (at: number) => string, each = 1): string =>
    fillNumbered("[", (at) => (at === 0 ? "" : ",") + item(at), "]", { bytes, values: values / each });
  const map = (member: (at: number) => string): string =>
    fillNumbered("{", (at) => (at === 0 ? "" : ",") + member(at), "}", {
      bytes,
      values: Math.min(members, values / 2),
    });
  const text = (part: string): string => fill('"', part, '"', { bytes, values: Infinity });
  const nested = `${'{"a":'.repeat(30)}1${"}".repeat(30)}`;
  return {
    numbers: list(() => "1"),
    "empty maps": list(() => "{}"),
    "empty lists": list(() => "[]"),
    "a map of many levels, many times": list(() => nested, 31),
    "many keys": map((at) => `"k${at}":"v"`),
    "many keys of bad form": map((at) => `"_ ${at}":null`),
    "many nulls": map((at) => `"k${at}":null`),
    "many keys of maps": map((at) => `"k${at}":{}`),
    "keys twice": map((at) => `"k${at >> 1}": ${at}`),
    "long text": text("x"),
    "long text of words": text("a, b "),
    "long text of dashes": text("a-"),
    "long text of dots": text("a."),
    "long text of slashes": text("/a"),
    "long text of escapes": text("\\u0000"),
    spaces: text(" "),
    texts: list((at) => `"t${at}"`),
    "one text often": list(() => '"t"'),
    guids: list((at) => `{"guid":"g${at}"}`, 2),
    named: list((at) => `{"name":"n${at}"}`, 2),
    "one name often": list(() => '{"name":"n"}', 2),
    "a long number": `1${"0".repeat(bytes - 100)}`,
  };
}

const long = longValues(BY_SIZE);

/** Texts that are bodies as they are. */
export const plainBodies: Bodies = {
  ...long,
  "a deep list": `${"[".repeat(MEBIBYTE / 2)}${"]".repeat(MEBIBYTE / 2)}`,
  "a deep map": `${'{"a":'.repeat(150_000)}1${"}".repeat(150_000)}`,
  "a map of it all": `{"a":${long["empty maps"]}}`,
  "a long key with keys twice": `{"${"k".repeat(600_000)}":{${Array.from({ length: 9_000 }, (_, at) => `"${at % 4_000}":1`).join()}}}`,
  "keys twice below many levels": `${'{"a":1,"a":'.repeat(500)}1${"}".repeat(500)}`,
  "spaces around": `{"a":1${" ".repeat(MEBIBYTE - 100)}}`,
  "broken at the end": `${long["many keys"]?.slice(0, -1)}`,
};

const app = "applications:\n- name: a\n";
const lines = (start: string, line: (at: number) => string, values: number): string =>
  fillNumbered(start, line, "", { bytes: MEBIBYTE, values });

/** Manifests, and what is none. */
export const yamlBodies: Bodies = {
  commas: fill("[", ","),
  "commas in an app": fill("applications: [", ",", "]"),
  "empty maps": fill("applications:\n", "- {}\n"),
  documents: fill("", "---\n"),
  "explicit keys": fill("", "? a\n"),
  "empty lists": fill("a: [", "[],", "]"),
  comments: fill("a: b\n", "#\n"),
  lines: fill("a: b", "\n"),
  "a long text": `${app}  command: "${"x ".repeat(MEBIBYTE / 2 - 100)}"`,
  "a folded text": fill("applications:\n- name: >\n", "    x\n"),
  anchors: lines("", (at) => `a${at}: &a${at} 1\n`, Infinity),
  aliases: `a: &a [1]\nb:\n${"- *a\n".repeat(100_000)}`,
  tags: fill("a:\n", "- !x 1\n"),
  quotes: fill('a: "', "\\n", '"'),
  dashes: fill("", "- "),
  colons: fill("a", ":"),
  "deep flow": fill("", "[{a: "),
  "deep lines": Array.from({ length: 1_400 }, (_, at) => `${" ".repeat(at)}a:\n`).join(""),
  "block ends": fill("", "a: |\n"),
  merges: fill("", "<<: {a: 1}\n"),
  "many apps": lines("applications:\n", (at) => `- name: a${at}\n`, Infinity),
  // As many as are taken.
  apps: lines("applications:\n", (at) => `- name: a${at}\n  memory: x\n`, 500),
  "apps of one name": lines("applications:\n", () => "- name: a\n  instances: -1\n", 500),
  "apps without a name": lines("applications:\n", () => "- memory: x\n", 500),
  "apps with routes": lines(
    "applications:\n",
    (at) => `- name: a${at}\n  routes:\n${`  - route: r${at}.${at}.none.example\n`.repeat(40)}`,
    400,
  ),
  "one app with many processes": lines(`${app}  processes:\n`, (at) => `  - type: p${at}\n    memory: x\n`, 9_000),
  "one app with many routes": lines(`${app}  routes:\n`, (at) => `  - route: r${at}/\n`, 9_000),
  "one app with many services": lines(`${app}  services:\n`, (at) => `  - s${at}\n`, 19_000),
  "one app with many variables": lines(`${app}  env:\n`, (at) => `    VCAP_${at}: v\n`, 9_900),
  "one app with many labels": lines(`${app}  metadata:\n    labels:\n`, (at) => `      _${at}: v\n`, 9_900),
  "one app with many keys": lines(app, (at) => `  k_${at}: v\n`, 9_900),
};

/** Copies of a body that passes, each with one member replaced by a long value. */
export function spoiled(paths: readonly (readonly string[])[], valid: unknown, amount: Amount): LazyBodies {
  const bodies: LazyBodies = {};
  const values = Object.entries(longValues(amount));
  for (const path of paths) {
    const marked = JSON.stringify(withMember(valid, path, "\u0001"));
    for (const [what, value] of values)
      bodies[`${path.join(".")}: ${what}`] = () => marked.replace('"\\u0001"', () => value);
  }
  return bodies;
}

/** The members of a schema, as paths. */
export function pathsOf(schema: Schema, depth = 4): string[][] {
  if (depth === 0) return [];
  const options = [schema, ...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  const found = options.flatMap(({ properties = {}, items, additionalProperties }) => [
    ...Object.entries(properties).flatMap(([name, child]) => [
      [name],
      ...pathsOf(child, depth - 1).map((path) => [name, ...path]),
    ]),
    ...(items ? pathsOf(items, depth - 1).map((path) => ["0", ...path]) : []),
    ...(typeof additionalProperties === "object" ? [["any"]] : []),
  ]);
  return [...new Map(found.map((path) => [path.join("\n"), path])).values()];
}

function withMember(value: unknown, [name = "", ...rest]: readonly string[], member: unknown): unknown {
  const inner = (value as Record<string, unknown> | null | undefined)?.[name];
  const next = rest.length === 0 ? member : withMember(inner, rest, member);
  if (name === "0") return [next];
  const base = typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  return { ...base, [name]: next };
}
