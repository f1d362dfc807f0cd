// Label and field selectors of list, watch and deletecollection: parsed once, then a plain predicate.
import type { KubeObject } from "../../../kube/object.ts";
import { badRequest } from "../status.ts";
import type { ResourceType } from "./types.ts";

export type Selects = (object: KubeObject) => boolean;
type LabelRule = (labels: Record<string, string>) => boolean;

const KEY = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/** Parses Kubernetes' label selector syntax; throws 400. */
export function parseLabelSelector(text: string): Selects | undefined {
  if (!text.trim()) return undefined;
  const rules = splitTop(text).map(parseRequirement);
  return (object) => rules.every((rule) => rule(object.metadata.labels ?? {}));
}

/** Splits at commas outside parentheses. */
function splitTop(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "(") depth += 1;
    else if (text[i] === ")") depth -= 1;
    else if (text[i] === "," && depth === 0) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  parts.push(text.slice(start));
  return parts.map((part) => part.trim());
}

function parseRequirement(text: string): LabelRule {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(text);
  if (set) {
    const key = checkedKey(set[1] ?? "");
    const values = new Set((set[3] ?? "").split(",").map((value) => value.trim()));
    return set[2] === "in" ? (labels) => Object.hasOwn(labels, key) && values.has(labels[key] ?? "") : (labels) => !Object.hasOwn(labels, key) || !values.has(labels[key] ?? "");
  }
  const equality = /^([^=!<>\s]+)\s*(==|=|!=|>|<)\s*([^=!<>\s]*)$/.exec(text);
  if (equality) return equalityRule(checkedKey(equality[1] ?? ""), equality[2] ?? "=", equality[3] ?? "");
  if (text.startsWith("!")) {
    const key = checkedKey(text.slice(1).trim());
    return (labels) => !Object.hasOwn(labels, key);
  }
  const key = checkedKey(text);
  return (labels) => Object.hasOwn(labels, key);
}

function equalityRule(key: string, operator: string, value: string): LabelRule {
  switch (operator) {
    case "!=": return (labels) => labels[key] !== value;
    case ">": return (labels) => Object.hasOwn(labels, key) && Number(labels[key]) > Number(value);
    case "<": return (labels) => Object.hasOwn(labels, key) && Number(labels[key]) < Number(value);
    default: return (labels) => labels[key] === value;
  }
}

function checkedKey(key: string): string {
  if (!KEY.test(key)) {
    throw badRequest(`unable to parse requirement: <nil>: Invalid value: ${JSON.stringify(key)}: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`);
  }
  return key;
}

/** Parses a field selector against what the resource offers; throws 400 on an unknown field. */
export function parseFieldSelector(text: string, type: ResourceType): { selects?: Selects; name?: string } {
  if (!text.trim()) return {};
  let name: string | undefined;
  const rules = text.split(",").map((part) => {
    const match = /^([^=!]+)(==|=|!=)(.*)$/.exec(part.trim());
    if (!match) throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
    const [, field = "", operator, value = ""] = match;
    const get = fieldGetter(field, type);
    if (field === "metadata.name" && operator !== "!=") name = value;
    return operator === "!=" ? (object: KubeObject) => get(object) !== value : (object: KubeObject) => get(object) === value;
  });
  return { selects: (object) => rules.every((rule) => rule(object)), name };
}

function fieldGetter(field: string, type: ResourceType): (object: KubeObject) => string {
  if (field === "metadata.name") return (object) => object.metadata.name;
  if (field === "metadata.namespace") return (object) => object.metadata.namespace ?? "";
  const get = Object.hasOwn(type.selectableFields, field) ? type.selectableFields[field] : undefined;
  if (!get) throw badRequest(type.builtin ? `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"` : `field label not supported: ${field}`);
  return get;
}

/** Both selectors of a query as one predicate; `name` when the field selector asks for one object. */
export function parseSelectors(query: URLSearchParams, type: ResourceType): { selects?: Selects; name?: string } {
  const labels = parseLabelSelector(query.get("labelSelector") ?? "");
  const { selects: fields, name } = parseFieldSelector(query.get("fieldSelector") ?? "", type);
  if (labels && fields) return { selects: (object) => labels(object) && fields(object), name };
  return { selects: labels ?? fields, name };
}
