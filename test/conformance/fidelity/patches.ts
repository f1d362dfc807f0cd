// Random JSON patches, and the directives of strategic merge patches.
import type { Json } from "../kubernetes/api.ts";
import type { FuzzKind } from "./kinds.ts";
import type { Random } from "./random.ts";
import { listPaths } from "./values.ts";

const escaped = (key: string | number) => String(key).replaceAll("~", "~0").replaceAll("/", "~1");
const pointer = (path: (string | number)[]) => path.map((key) => `/${escaped(key)}`).join("");

const fixed: Json[] = [
  { op: "add", path: "/metadata/labels", value: { app: "b" } },
  { op: "add", path: "/metadata/labels/app", value: "c" },
  { op: "remove", path: "/metadata/labels/app" },
  { op: "replace", path: "/metadata/labels/tier", value: "x" },
  { op: "test", path: "/metadata/name", value: "a" },
  { op: "test", path: "/metadata/uid", value: "<uid>" },
  { op: "replace", path: "/metadata/resourceVersion", value: "<rv>" },
  { op: "replace", path: "/metadata/resourceVersion", value: "<old-rv>" },
  { op: "replace", path: "/kind", value: "Other" },
  { op: "remove", path: "/metadata" },
  { op: "add", path: "/metadata/annotations", value: { n: "1" } },
  { op: "add", path: "/metadata/finalizers", value: ["example.com/a"] },
  { op: "remove", path: "/metadata/finalizers" },
  { op: "bogus", path: "/spec" },
  { path: "/spec" },
  { op: "add", path: "no-slash", value: 1 },
  { op: "replace", path: "/metadata/name", value: "other" },
  { op: "add", path: "/unknown", value: { a: 1 } },
  { op: "remove", path: "/metadata/managedFields" },
  { op: "replace", path: "/metadata/managedFields", value: [{}] },
  { op: "replace", path: "", value: {} },
  { op: "remove", path: "" },
  { op: "add", path: "/metadata/generation", value: 9 },
];

export function operations(kind: FuzzKind, random: Random): Json {
  if (random.chance(0.02)) return random.pick<Json>([{}, [1], "text", [[]], null]);
  const content = kind.content(random);
  const paths = listPaths(content);
  return Array.from({ length: 1 + random.int(3) }, () =>
    paths.length === 0 || random.chance(0.35) ? random.pick(fixed) : operation(content, paths, random),
  );
}

function operation(content: Json, paths: (string | number)[][], random: Random): Json {
  const path = random.pick(paths);
  const value = path.reduce((at: Json, key) => at[key], content);
  const here = pointer(random.chance(0.1) && typeof path.at(-1) === "number" ? [...path.slice(0, -1), "-"] : path);
  return random.weighted<Json>([
    [5, { op: "add", path: here, value }],
    [4, { op: "replace", path: here, value }],
    [3, { op: "remove", path: here }],
    [1, { op: "test", path: here, value }],
    [1, { op: "copy", from: pointer(random.pick(paths)), path: here }],
    [1, { op: "move", from: pointer(random.pick(paths)), path: here }],
    [0.3, { op: "add", path: here }],
    [0.3, { op: "replace", path: here, value: null }],
  ]);
}

/** A merge patch with directives put in here and there. */
export function strategicDirectives(value: Json, random: Random): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value))
    return listDirectives(
      value.map((item: Json) => strategicDirectives(item, random)),
      random,
    );
  const out: Json = {};
  for (const [key, inner] of Object.entries(value as Record<string, Json>))
    out[key] = strategicDirectives(inner, random);
  if (random.chance(0.02))
    out.$patch = random.weighted([
      [5, "replace"],
      [5, "delete"],
      [1, "merge"],
      [1, "other"],
    ]);
  if ("rollingUpdate" in out && random.chance(0.5)) out.$retainKeys = Object.keys(out);
  return { ...out, ...directivesFor(out, random) };
}

function directivesFor(value: Json, random: Random): Json {
  const lists = Object.entries(value as Record<string, Json>).filter(
    ([, inner]) => Array.isArray(inner) && random.chance(0.1),
  );
  return Object.assign({}, ...lists.map(([key, inner]) => directiveFor(key, inner, random))) as Json;
}

function listDirectives(list: Json[], random: Random): Json[] {
  const at = random.int(Math.max(list.length, 1));
  if (random.chance(0.05) && typeof list[at] === "object") list[at] = { ...list[at], $patch: "delete" };
  if (random.chance(0.03)) list.push({ $patch: "replace" });
  return list;
}

function directiveFor(key: string, list: Json[], random: Random): Json {
  const named = list.every(
    (item) =>
      typeof item === "object" &&
      item !== null &&
      ["name", "port", "type", "containerPort"].some((field) => item[field] !== undefined),
  );
  if (!named && list.some((item) => typeof item === "object")) return {};
  const order = named
    ? list
        .map(({ name, port, type, containerPort }: Json) =>
          Object.fromEntries(
            Object.entries({ name, port, type, containerPort })
              .filter(([, each]) => each !== undefined)
              .slice(0, 1),
          ),
        )
        .toReversed()
    : list.toReversed();
  if (named) return { [`$setElementOrder/${key}`]: order };
  return random.chance(0.5)
    ? { [`$setElementOrder/${key}`]: order }
    : { [`$deleteFromPrimitiveList/${key}`]: [list[0]] };
}
