// Values for a schema: mostly what it asks for, sometimes what it forbids.
import type { Schema } from "./openapi.ts";

/** Random choices, all from one seed. */
export interface Chance {
  random: () => number;
  /** GUIDs of what exists, by the plural that paths use. */
  guids: Readonly<Record<string, readonly string[]>>;
  /** Everything fits its schema and exists: what follows is to succeed. */
  isTidy: boolean;
}

export function pick<T>({ random }: Pick<Chance, "random">, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T;
}

/** Whether something goes wrong here. */
export const errs = (chance: Chance, probability: number): boolean => !chance.isTidy && happens(chance, probability);

export const happens = ({ random }: Chance, probability: number): boolean => random() < probability;

const oddTexts = [
  "",
  " ",
  "x",
  "a.b",
  "*",
  "Ünïcode-☃",
  "../../etc",
  "%00",
  "\u0000",
  "a,b",
  "'\"<>&",
  "-1",
  "null",
  "2026-01-01T00:00:00Z",
  "x".repeat(300),
  "key=value",
  "a in (b,c),!d",
];

const oddValues: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e15,
  "",
  "x",
  [],
  {},
  [null],
  { data: null },
  { guid: 5 },
];

export function oddText(chance: Chance): string {
  return pick(chance, oddTexts);
}

/** A GUID of something of that kind, of anything, or of nothing. */
export function guidOf(chance: Chance, kind: string): string {
  const known = chance.guids[kind] ?? [];
  if (known.length > 0 && (chance.isTidy || happens(chance, 0.85))) return pick(chance, known);
  if (happens(chance, 0.5)) return pick(chance, Object.values(chance.guids).flat());
  return happens(chance, 0.5) ? "01890000-0000-7000-8000-000000000000" : oddText(chance);
}

/** `spaces` for `space`, `space_guids` or `running_spaces`; undefined for other words. */
export function kindNamed({ guids }: Chance, word: string): string | undefined {
  const bare = word.replace(/_guids?$/, "").replace(/^(?:running|staging|shared|target|current)_/, "");
  return [bare, `${bare}s`, `${bare}es`].find((kind) => kind in guids);
}

/** A name that is often taken, so that conflicts occur. */
function nameFrom(chance: Chance): string {
  return `fuzz-${Math.floor(chance.random() * (chance.isTidy ? 1e6 : 200))}`;
}

function integerFrom(chance: Chance, { minimum = -1, maximum = 1000 }: Schema): number {
  if (errs(chance, 0.15)) return pick(chance, [minimum - 1, maximum + 1, 0, 1e12]);
  const span = Math.min(maximum - minimum, 200);
  return minimum + Math.floor(chance.random() * (span + 1));
}

/** Where a value stands: the names of the members around it. */
type Place = readonly string[];

/** The kind whose GUID stands there: `guid` inside of `space`, or a list of `space_guids`. */
function kindAt(chance: Chance, place: Place): string | undefined {
  const last = place.at(-1) ?? "";
  if (last.endsWith("guids")) return kindNamed(chance, last);
  if (last !== "guid") return undefined;
  const around = place.findLast((word) => kindNamed(chance, word) !== undefined);
  return around === undefined ? undefined : kindNamed(chance, around);
}

function textFrom(chance: Chance, { format }: Schema, place: Place): string {
  if (errs(chance, 0.1)) return oddText(chance);
  if (format === "date-time")
    return pick(chance, ["2026-01-01T00:00:00Z", "1999-12-31T23:59:59Z", ...(chance.isTidy ? [] : ["now"])]);
  const kind = kindAt(chance, place);
  if (kind !== undefined) return guidOf(chance, kind);
  return place.includes("domains") ? `${nameFrom(chance)}.example` : nameFrom(chance);
}

function objectFrom(chance: Chance, schema: Schema, place: Place): object {
  const required = new Set(schema.required);
  const members = Object.entries(schema.properties ?? {})
    .filter(([name]) => (required.has(name) ? !errs(chance, 0.03) : happens(chance, chance.isTidy ? 0.2 : 0.35)))
    .map(([name, child]) => [name, valueFor(chance, child, [...place, name])]);
  const free = schema.additionalProperties;
  const more =
    typeof free === "object" && happens(chance, 0.7)
      ? [
          [
            pick(chance, ["a", "B_2", "example.org/c", ...(chance.isTidy ? [] : [oddText(chance)])]),
            valueFor(chance, free, place),
          ],
        ]
      : [];
  const unknown = errs(chance, 0.03) ? [["bogus", 1]] : [];
  return Object.fromEntries([...members, ...more, ...unknown]) as object;
}

/** A value that mostly fits the schema. */
export function valueFor(chance: Chance, schema: Schema, place: Place): unknown {
  if (errs(chance, 0.04)) return pick(chance, oddValues);
  if (schema.nullable && happens(chance, 0.15)) return null;
  const variants = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (variants) return valueFor(chance, pick(chance, variants), place);
  if (schema.enum) return pick(chance, schema.enum);
  return byType(chance, schema, place);
}

function byType(chance: Chance, schema: Schema, place: Place): unknown {
  switch (schema.type) {
    case "object":
      return objectFrom(chance, schema, place);
    case "array":
      return Array.from({ length: Math.floor(chance.random() * 3) }, () => valueFor(chance, schema.items ?? {}, place));
    case "integer":
    case "number":
      return integerFrom(chance, schema);
    case "boolean":
      return happens(chance, 0.5);
    case "string":
      return textFrom(chance, schema, place);
    default:
      return pick(chance, [...oddValues, nameFrom(chance)]);
  }
}
