// Faults of a template's schema of parameters: it must be structural, and each string, list and map needs a bound.
import { STRUCTURAL_KEYWORDS, type SchemaNode } from "../../kube/api/crd.ts";
import { REGEX } from "./regex-parameters.ts";

const MAX_NODES = 200;
const MAX_DEPTH = 10;

const TYPES = new Set(["object", "array", "string", "integer", "number", "boolean"]);
/** The first fault of a schema, with its place; undefined when there is none. */
export function schemaFault(schema: unknown, path: string): string | undefined {
  if (!isNode(schema) || schema["type"] !== "object") return `${path}: type must be object`;
  return nodeFault(schema, { path, depth: 0 }, { nodes: 0 });
}

function isNode(value: unknown): value is SchemaNode {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

interface At {
  path: string;
  depth: number;
}

function nodeFault(node: SchemaNode, at: At, count: { nodes: number }): string | undefined {
  const { path, depth } = at;
  if (++count.nodes > MAX_NODES) return `${path}: the schema has more than ${MAX_NODES} fields`;
  if (depth > MAX_DEPTH) return `${path}: the schema is nested more than ${MAX_DEPTH} deep`;
  const unknown = Object.keys(node).find((key) => !STRUCTURAL_KEYWORDS.has(key));
  if (unknown !== undefined) return `${path}.${unknown}: a schema of parameters has no such keyword`;
  const type = String(node["type"]);
  if (!TYPES.has(type)) return `${path}.type: one of ${[...TYPES].join(", ")}`;
  return boundFault(node, type, path) ?? patternFault(node, path) ?? childFault(node, at, count);
}

/** A pattern that the API server and this program read alike. */
function patternFault({ pattern }: SchemaNode, path: string): string | undefined {
  if (pattern === undefined) return undefined;
  try {
    if (typeof pattern === "string" && RegExp(pattern, "u")) return undefined;
  } catch {
    // Told below.
  }
  return `${path}.pattern: not a regular expression that works everywhere; do without flags such as (?i) and classes such as [[:alpha:]]`;
}

function boundFault(node: SchemaNode, type: string, path: string): string | undefined {
  const needs = (bound: string): string | undefined =>
    typeof node[bound] === "number" ? undefined : `${path}: add ${bound}`;
  const isFree = node["enum"] === undefined && (node["format"] === undefined || node["format"] === REGEX);
  if (type === "string" && isFree) return needs("maxLength");
  if (type === "array") return isNode(node["items"]) ? needs("maxItems") : `${path}: add items`;
  return type === "object" && node["additionalProperties"] !== undefined ? needs("maxProperties") : undefined;
}

function childFault(node: SchemaNode, at: At, count: { nodes: number }): string | undefined {
  for (const [name, child] of childrenOf(node)) {
    const path = `${at.path}.${name}`;
    if (!isNode(child)) return `${path}: a schema is an object`;
    const fault = nodeFault(child, { path, depth: at.depth + 1 }, count);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function childrenOf(node: SchemaNode): [string, unknown][] {
  const properties = isNode(node["properties"]) ? Object.entries(node["properties"]) : [];
  return [
    ...properties.map(([name, child]): [string, unknown] => [`properties.${name}`, child]),
    ...["items", "additionalProperties"].flatMap((key): [string, unknown][] =>
      node[key] === undefined ? [] : [[key, node[key]]],
    ),
  ];
}
