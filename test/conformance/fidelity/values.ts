// Random values by a schema: mostly what it allows, now and then a little beyond.
import type { Json } from "../kubernetes/api.ts";
import type { Random } from "./random.ts";

type Schema = Json;

const TEXTS = [
  "a",
  "b",
  "web",
  "shop",
  "x-1",
  "10",
  "1.5",
  "/p",
  "a.b",
  "A b",
  "",
  "é",
  "2026-01-02T03:04:05Z",
  "80",
  "true",
  "long-enough-to-be-over-ten",
  "500m",
  "cflinuxfs4",
  "docker://x/y:1",
];
const KEYS = ["a", "b", "c.d", "e/f"];
const NUMBERS = [0, 1, 2, 3, 8, 80, 100, 65535, 65536, -1];
/** How often a value is drawn without regard to the bounds of its schema. */
const INVALID_PROBABILITY = 0.04;

export function valueOf(schema: Schema, random: Random, depth = 0): Json {
  if (schema.nullable && random.chance(0.25)) return null;
  if (Array.isArray(schema.enum) && !random.chance(INVALID_PROBABILITY)) return random.pick(schema.enum as Json[]);
  if (schema["x-kubernetes-int-or-string"]) return random.pick([1, 80, "http", "25%", "", 0]);
  if (schema["x-kubernetes-embedded-resource"]) return embedded(random);
  return (BY_TYPE[schema.type] ?? objectOf)(schema, random, depth);
}

const BY_TYPE: Record<string, (schema: Schema, random: Random, depth: number) => Json> = {
  string: textOf,
  integer: (schema, random) => numberOf(schema, random, NUMBERS),
  number: (schema, random) => numberOf(schema, random, [...NUMBERS, 1.5, 0.25]),
  boolean: (_schema, random) => random.chance(0.5),
  array: listOf,
};

function textOf({ pattern, minLength = 0, maxLength = Infinity, format }: Schema, random: Random): string {
  if (format === "date-time" && !random.chance(INVALID_PROBABILITY)) return "2026-01-02T03:04:05Z";
  const fitting = TEXTS.filter(
    (text) => text.length >= minLength && text.length <= maxLength && (!pattern || new RegExp(pattern, "u").test(text)),
  );
  return random.pick(fitting.length > 0 && !random.chance(INVALID_PROBABILITY) ? fitting : TEXTS);
}

function numberOf({ minimum = -Infinity, maximum = Infinity }: Schema, random: Random, all: number[]): number {
  const fitting = [...all, minimum, maximum].filter(
    (each) => each >= minimum && each <= maximum && Number.isFinite(each),
  );
  return random.pick(fitting.length > 0 && !random.chance(INVALID_PROBABILITY) ? fitting : all);
}

function listOf(schema: Schema, random: Random, depth: number): Json[] {
  const length = random.weighted([
    [1, 0],
    [4, 1],
    [4, 2],
    [2, 3],
  ]);
  const items = Array.from({ length: Math.max(length, schema.minItems ?? 0) }, () =>
    valueOf(schema.items ?? {}, random, depth + 1),
  );
  return random.chance(INVALID_PROBABILITY) ? items : distinct(items, schema);
}

/** Two items with one key are refused: interesting, but not most of the time. */
function distinct(items: Json[], schema: Schema): Json[] {
  const kind = schema["x-kubernetes-list-type"];
  if (kind !== "set" && kind !== "map") return items;
  const keys = kind === "map" ? (schema["x-kubernetes-list-map-keys"] as string[]) : undefined;
  const keyOf = (item: Json) =>
    JSON.stringify(keys ? keys.map((key) => item?.[key] ?? schema.items?.properties?.[key]?.default) : item);
  return [...new Map(items.map((item) => [keyOf(item), item])).values()];
}

function objectOf(schema: Schema, random: Random, depth: number): Json {
  if (!schema.properties && !schema.additionalProperties) return free(random, 2);
  const out: Json = {};
  const required = new Set<string>(schema.required ?? []);
  const optional = depth === 0 ? 0.35 : 0.5;
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  for (const [name, property] of properties.filter(([each]) => random.chance(required.has(each) ? 0.97 : optional)))
    out[name] = valueOf(property, random, depth + 1);
  if (schema.additionalProperties) Object.assign(out, entriesOf(schema.additionalProperties, random, depth));
  if (schema["x-kubernetes-preserve-unknown-fields"]) Object.assign(out, free(random, 1));
  return out;
}

const entriesOf = (schema: Schema, random: Random, depth: number): Json =>
  Object.fromEntries(
    random.some(KEYS, 0.45).map((key) => [key, valueOf(schema === true ? {} : schema, random, depth + 1)]),
  );

/** Any JSON object. */
export function free(random: Random, depth: number): Json {
  return Object.fromEntries(random.some(["x", "y", "z"], 0.5).map((key) => [key, freeValue(random, depth)]));
}

function freeValue(random: Random, depth: number): Json {
  const leaf = () =>
    random.pick<Json>([1, "t", true, null, [], {}, [1, 2], "", 0, 1.5, [{ name: "a" }, { name: "b" }]]);
  return depth > 0 && random.chance(0.4) ? free(random, depth - 1) : leaf();
}

function embedded(random: Random): Json {
  return {
    ...(random.chance(0.93) && { apiVersion: random.pick(["v1", "example.com/v1", "x", "a/b/c"]) }),
    ...(random.chance(0.93) && { kind: random.pick(["Pod", "Thing", "bad kind"]) }),
    ...(random.chance(0.7) && {
      metadata: {
        ...(random.chance(0.7) && { name: random.pick(["a", "B_", "x.y"]) }),
        ...(random.chance(0.4) && { labels: { l: random.pick(["1", "bad value"]) } }),
        ...(random.chance(0.15) && { unknown: 1 }),
      },
    }),
    ...(random.chance(0.5) && { spec: free(random, 1) }),
  };
}

type Path = (string | number)[];

/** Every place of a value but its root. */
export function listPaths(value: Json, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value as Record<string, Json>).flatMap(([key, inner]) => {
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    return [at, ...listPaths(inner, at)];
  });
}

const holderOf = (value: Json, path: Path): Json => path.slice(0, -1).reduce((at: Json, key) => at[key], value);

/** A copy with one thing made wrong, or merely unusual. */
export function corrupt(value: Json, random: Random): Json {
  const out = structuredClone(value);
  const paths = listPaths(out);
  if (paths.length === 0) return { unknown: 1 };
  const path = random.pick(paths);
  const holder = holderOf(out, path);
  const key = path.at(-1) as string;
  const here = holder[key];
  random.pick([
    () => {
      holder[key] = null;
    },
    () => {
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete holder[key];
    },
    () => {
      holder[key] = otherType(here, random);
    },
    () => {
      holder[key] = Array.isArray(here)
        ? []
        : typeof here === "object" && here !== null
          ? {}
          : random.pick(["", 0, "x".repeat(300), "Not OK!", -1]);
    },
    () => {
      if (Array.isArray(holder)) holder.push(structuredClone(here));
      else holder[`un${key}`] = 1;
    },
    () => {
      if (typeof here === "object" && here !== null && !Array.isArray(here)) here.unknownField = "u";
      else holder[key] = here;
    },
  ])();
  return out;
}

function otherType(value: Json, random: Random): Json {
  const others: Json[] = ["text", 7, true, ["item"], { key: "value" }, 1.5];
  return random.pick(
    others.filter((other) => typeof other !== typeof value || Array.isArray(other) !== Array.isArray(value)),
  );
}
