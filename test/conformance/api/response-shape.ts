// Compares what goes out with the shapes of CAPI's objects (shapes.golden.json): exactly those keys, links with their methods.
import { readFileSync } from "node:fs";

interface Shape {
  /** Dotted paths that are always there; what is below one that is not listed itself is a map. */
  fields: string[];
  /** Paths that may be there. */
  optional: string[];
  /** Name of each link to its method. */
  links: Record<string, string>;
  optionalLinks: Record<string, string>;
}

const shapes = JSON.parse(readFileSync(new URL("shapes.golden.json", import.meta.url), "utf8")) as Record<
  string,
  Shape
>;

type Json = Record<string, unknown>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Every path in an object, down to the paths that the shape takes as a whole. */
function pathsOf(value: Json, goesOn: (path: string) => boolean, prefix = ""): string[] {
  return Object.entries(value).flatMap(([key, child]) => {
    const path = prefix + key;
    return [path, ...(isObject(child) && goesOn(path) ? pathsOf(child, goesOn, `${path}.`) : [])];
  });
}

function linkProblems(shape: Shape, links: Json): string[] {
  const known = { ...shape.links, ...shape.optionalLinks };
  const wrong = Object.entries(links).flatMap(([name, link]) => {
    if (
      !isObject(link) ||
      typeof link["href"] !== "string" ||
      !/^http:\/\/127\.0\.0\.1:\d+\/.*[^/]$/.test(link["href"])
    )
      return [`link ${name} has no address: ${JSON.stringify(link)}`];
    if (!(name in known)) return [`unknown link ${name}`];
    return (link["method"] ?? "GET") === known[name] && link["method"] !== "GET"
      ? []
      : [`link ${name} has method ${String(link["method"])}`];
  });
  return [
    ...wrong,
    ...Object.keys(shape.links)
      .filter((name) => !(name in links))
      .map((name) => `no link ${name}`),
  ];
}

/** Differences between an object and its shape; nothing when it is as CAPI's. */
export function shapeProblems(kind: string, value: unknown): string[] {
  const shape = shapes[kind];
  if (!shape) throw new Error(`no shape ${kind}`);
  if (!isObject(value)) return [`no object: ${JSON.stringify(value)}`];
  const { links, included: _included, ...rest } = value;
  const listed = [...shape.fields, ...shape.optional];
  const goesOn = (path: string): boolean => listed.some((one) => one.startsWith(`${path}.`));
  const allowed = new Set(
    listed.flatMap((path) => path.split(".").map((_part, at, segments) => segments.slice(0, at + 1).join("."))),
  );
  const got = new Set(pathsOf(rest, goesOn));
  return [
    ...[...got].filter((path) => !allowed.has(path)).map((path) => `unknown ${path}`),
    ...shape.fields.filter((path) => !got.has(path)).map((path) => `no ${path}`),
    ...(Object.keys(shape.links).length > 0 || links !== undefined ? linkProblems(shape, (links ?? {}) as Json) : []),
  ];
}
