// Templates: texts with placeholders for what differs between two runs. A match learns what a name stands for, and later holds to it.
import { isDeepStrictEqual } from "node:util";
import type { Template } from "./traffic.ts";

/** Meanings of names in this run. */
export type Bindings = ReadonlyMap<string, string>;

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/** Placeholders without a number mean something else each time; those with one mean the same wherever they stand. */
const PATTERNS: Readonly<Record<string, string>> = {
  guid: UUID,
  job: String.raw`[^/?"\s]+`,
  url: String.raw`http://localhost:\d+`,
  time: String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`,
  nanos: String.raw`\d{16,20}`,
  sha256: "[0-9a-f]{64}",
  ip: String.raw`\d+(?:\.\d+){3}`,
  number: String.raw`-?[\d.]+(?:e-?\d+)?`,
  text: ".*",
  // The content of a file, whose name ends in a digest.
  bytes: ".*",
};
const PLACEHOLDER = /<((guid|job|url|time|nanos|sha256|ip|number|text|own|bytes)(?:-[0-9a-f]+)?)>/;
/** Alone it matches whatever is there. */
export const ANY = "<any>";

/** The one key of an object that stands for a list of any length, all of whose members match its value. */
export const EACH = "<each>";

/** The one key of an object that stands for a list whose order says nothing. */
export const IN_ANY_ORDER = "<in any order>";

/** The one key of an object that stands for a list which has these members, in any order, and maybe others. */
export const AT_LEAST = "<at least>";

/** Where a value is not as the template says. */
export interface Difference {
  at: string;
  expected: Template;
  found: unknown;
}

/** Compares. Names that are met for the first time are added to `learnt`; keep them only when there is no difference. */
export function match(template: Template, value: unknown, learnt: Map<string, string>, at = "$"): Difference[] {
  const listed = isContainer(template) ? matchList(template, value, learnt, at) : undefined;
  if (listed) return listed;
  if (
    typeof template === "object" &&
    template !== null &&
    isContainer(value) &&
    Array.isArray(value) === Array.isArray(template)
  )
    return matchFields(template as TemplateFields<Template>, value, learnt, at);
  return matchLeaf(template, value, learnt) ? [] : [{ at, expected: template, found: value }];
}

/** Undefined where the template is no list of a special kind. */
function matchList(
  { [EACH]: each, [IN_ANY_ORDER]: members, [AT_LEAST]: some }: TemplateFields<unknown>,
  value: unknown,
  learnt: Map<string, string>,
  at: string,
): Difference[] | undefined {
  if (members !== undefined) return matchMembers(members as readonly Template[], value, learnt, at);
  if (some !== undefined)
    return matchMembers(some as readonly Template[], value, learnt, at).filter(({ expected }) => expected !== NO_MORE);
  return each === undefined ? undefined : matchEach(each as Template, value, learnt, at);
}

type TemplateFields<T> = Readonly<Record<string, T>>;

function isContainer(value: unknown): value is TemplateFields<unknown> {
  return typeof value === "object" && value !== null;
}

function matchFields(
  template: TemplateFields<Template>,
  value: TemplateFields<unknown>,
  learnt: Map<string, string>,
  at: string,
): Difference[] {
  const keys = new Set([...Object.keys(template), ...Object.keys(value)]);
  return [...keys].flatMap((key) => {
    const part = template[key];
    return part === undefined
      ? [{ at: `${at}.${key}`, expected: "nothing", found: value[key] }]
      : match(part, value[key], learnt, `${at}.${key}`);
  });
}

function matchEach(template: Template, value: unknown, learnt: Map<string, string>, at: string): Difference[] {
  if (!Array.isArray(value) || value.length === 0) return [{ at, expected: "a list with members", found: value }];
  return (value as unknown[]).flatMap((member, index) => match(template, member, learnt, `${at}.${index}`));
}

const NO_MORE = "no more";

/** Each takes the first that fits it. */
function matchMembers(
  template: readonly Template[],
  value: unknown,
  learnt: Map<string, string>,
  at: string,
): Difference[] {
  const remaining = Array.isArray(value) ? [...(value as unknown[])] : [];
  const unmatched = template.filter((member) => {
    for (const [index, candidate] of remaining.entries()) {
      const tried = new Map(learnt);
      if (match(member, candidate, tried).length > 0) continue;
      for (const [name, known] of tried) learnt.set(name, known);
      remaining.splice(index, 1);
      return false;
    }
    return true;
  });
  return [
    ...unmatched.map((expected) => ({ at, expected, found: remaining })),
    ...(unmatched.length === 0 && remaining.length > 0 ? [{ at, expected: NO_MORE, found: remaining }] : []),
  ];
}

function matchLeaf(template: Template, value: unknown, learnt: Map<string, string>): boolean {
  if (template === ANY) return value !== undefined;
  return typeof template === "string" ? matchText(template, value, learnt) : isDeepStrictEqual(template, value);
}

function matchText(template: string, value: unknown, learnt: Map<string, string>): boolean {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string") return false;
  const names: string[] = [];
  const source = template.split(new RegExp(PLACEHOLDER, "g")).map((part, index) => {
    // A split by a pattern with two groups gives: text, name, kind, text, name, kind, …
    if (index % 3 === 0) return RegExp.escape(part);
    if (index % 3 === 2) return "";
    names.push(part);
    const known = part === "own" ? learnt.get(part) : undefined;
    return `(${known === undefined ? (PATTERNS[part.replace(/-[0-9a-f]+$/, "")] ?? "") : RegExp.escape(known)})`;
  });
  const found = new RegExp(`^${source.join("")}$`, "s").exec(text);
  return found !== null && names.every((name, index) => agrees(name, found[index + 1] ?? "", learnt));
}

function agrees(name: string, value: string, learnt: Map<string, string>): boolean {
  if (!/-[0-9a-f]+$/.test(name) && name !== "url") return true;
  const known = learnt.get(name);
  if (known === undefined) learnt.set(name, value);
  return known === undefined || known === value;
}

/** A template with the values of this run. @throws Error for a name that no answer has given yet */
export function fill<T extends Template>(template: T, bindings: Bindings): T {
  const text = JSON.stringify(template).replace(new RegExp(PLACEHOLDER, "g"), (_all, name: string) => {
    const value = name === "nanos" ? String(BigInt(Date.now() - 3_600_000) * 1_000_000n) : bindings.get(name);
    if (value === undefined) throw new Error(`no answer before ${JSON.stringify(template)} gave ${name}`);
    return value;
  });
  return JSON.parse(text) as T;
}
