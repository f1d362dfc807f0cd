// A request of a recording as one line: `PATCH /v3/apps/:guid ?names {name metadata.labels} 200`, so that a list of them is read as text.
import type { Endpoint } from "../../../api/routing/endpoint.ts";
import type { RecordedExchange, Template } from "../cf-traffic/traffic.ts";

/** Members of the body that hold what people call as they like. */
const FREE_MEMBERS = /^(labels|annotations|var|environment_variables|links)$/;
const DEPTH = 3;

/** Describes exchanges by the endpoint that serves them; a path that none serves keeps its words, and GUIDs become `:guid`. */
export function lineWriter(endpoints: readonly Pick<Endpoint, "method" | "path">[]): (one: RecordedExchange) => string {
  const templates = endpoints.map(({ method, path }) => ({ method, path, pattern: patternOf(path) }));
  return ({ request, answer }) => {
    const [path = "", query] = request.path.split("?");
    const clean = `/${path.split("/").filter(Boolean).join("/")}`;
    const found = templates
      .filter(({ method, pattern }) => method === request.method && pattern.test(clean))
      .sort((one, other) => countParams(one.path) - countParams(other.path))[0];
    const parts = [
      request.method,
      found?.path ?? clean.replaceAll(/<guid-\d+>/g, ":guid"),
      ...(query ? [`?${keysOf(query).join("&")}`] : []),
      ...bodyParts(request),
      String(answer.status),
    ];
    return parts.join(" ");
  };
}

/** A line without query, body and status. */
export function shapeOf(line: string): string {
  const [method = "", path = ""] = line.split(" ");
  return `${method} ${path.replaceAll(/:\w+/g, ":").replace(/(?<=.)\/$/, "")}`;
}

/** The keys of its query. */
export function queryOf(line: string): string[] {
  return (/ \?(\S+)/.exec(line)?.[1] ?? "").split("&").filter(Boolean);
}

function patternOf(path: string): RegExp {
  const parts = path.split("/").map((part) => (part.startsWith(":") ? "[^/]+" : RegExp.escape(part)));
  return new RegExp(`^${parts.join("/")}$`);
}

function countParams(path: string): number {
  return path.split(":").length;
}

function keysOf(query: string): string[] {
  return [...new Set(new URLSearchParams(query.replaceAll(/<([a-z]+)-\d+>/g, "$1")).keys())].sort();
}

function bodyParts({ body, form, contentType }: RecordedExchange["request"]): string[] {
  if (form) return [`(${form.map(({ name }) => name).join(" ")})`];
  if (body === undefined) return [];
  if (typeof body === "string") return [`<${contentType ?? "bytes"}>`];
  return [`{${[...new Set(membersOf(body, DEPTH))].join(" ")}}`];
}

/** Dotted paths to the leaves. */
function membersOf(value: Template, depth: number): string[] {
  if (Array.isArray(value)) return [...new Set((value as Template[]).flatMap((one) => membersOf(one, depth)))];
  return Object.entries(value as Readonly<Record<string, Template>>).flatMap(([name, member]) => {
    const inner = depth > 1 && isContainer(member) && !FREE_MEMBERS.test(name) ? membersOf(member, depth - 1) : [];
    return inner.length === 0 ? [name] : inner.map((path) => `${name}.${path}`);
  });
}

/** An object, or a list of objects. */
function isContainer(value: Template): boolean {
  if (Array.isArray(value)) return (value as Template[]).some((one) => isContainer(one));
  return typeof value === "object" && value !== null;
}
