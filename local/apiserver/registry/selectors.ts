// Label and field selectors of list, watch and deletecollection: parsed once, then a plain predicate.
import type { KubeObject } from "../../../kube/api/object.ts";
import { badRequest } from "../status.ts";
import { parseLabelRules } from "./label-selectors.ts";
import type { ResourceType } from "./types.ts";

export type Selects = (object: KubeObject) => boolean;

/** Parses Kubernetes' label selector syntax; throws 400. */
export function parseLabelSelector(text: string): Selects | undefined {
  if (!text.trim()) return undefined;
  const rules = parseLabelRules(text);
  return (object) => rules.every((rule) => rule(object.metadata.labels ?? {}));
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
    return operator === "!="
      ? (object: KubeObject) => get(object) !== value
      : (object: KubeObject) => get(object) === value;
  });
  return { selects: (object) => rules.every((rule) => rule(object)), name };
}

function fieldGetter(field: string, type: ResourceType): (object: KubeObject) => string {
  if (field === "metadata.name") return (object) => object.metadata.name;
  if (field === "metadata.namespace") return (object) => object.metadata.namespace ?? "";
  const get = Object.hasOwn(type.selectableFields, field) ? type.selectableFields[field] : undefined;
  if (!get)
    throw badRequest(
      type.builtin && Object.keys(type.selectableFields).length === 0
        ? `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`
        : `field label not supported: ${field}`,
    );
  return get;
}

/** Both selectors of a query as one predicate; `name` when the field selector asks for one object. */
export function parseSelectors(query: URLSearchParams, type: ResourceType): { selects?: Selects; name?: string } {
  const labels = parseLabelSelector(query.get("labelSelector") ?? "");
  const { selects: fields, name } = parseFieldSelector(query.get("fieldSelector") ?? "", type);
  if (labels && fields) return { selects: (object) => labels(object) && fields(object), name };
  return { selects: labels ?? fields, name };
}
