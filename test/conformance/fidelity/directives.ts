// Which directives of a strategic merge patch have a meaning where they stand, by the published schemas.
import type { TypeView } from "../../../local/apiserver/apply/type-view.ts";
import { entryView, isMap } from "../../../local/apiserver/apply/values.ts";
import { builtinView, schemaOfKind } from "../../../local/apiserver/builtin/schemas.ts";
import type { Json } from "../kubernetes/api.ts";
import { kindOf } from "./kinds.ts";

const ORDER = "$setElementOrder/";
const DELETE_FROM = "$deleteFromPrimitiveList/";

/** The type of a built-in kind of `kinds.ts`. */
export function viewOfKind(name: string): TypeView {
  const { kind, apiVersion } = kindOf(name);
  const [version = "", group = ""] = apiVersion.split("/").toReversed();
  return builtinView(schemaOfKind(group, version, kind) ?? "");
}

/** Whether a patch has a directive that kube-apiserver would not know what to do with. */
export function hasMisusedDirective(view: TypeView, patch: Json): boolean {
  if (Array.isArray(patch))
    return patch.some(
      (item: Json) =>
        isMisusedInItem(view, item) || (view.list !== undefined && hasMisusedDirective(view.list.element(), item)),
    );
  if (!isMap(patch)) return false;
  return Object.entries(patch).some(
    ([key, value]) =>
      isMisused(view, key, { value, patch }) ||
      (!key.startsWith("$") && view.map !== undefined && hasMisusedDirective(entryView(view.map, key), value)),
  );
}

function isMisused(view: TypeView, key: string, { value, patch }: { value: Json; patch: Json }): boolean {
  if (key === "$patch") return value !== "replace" && value !== "delete";
  if (key === "$retainKeys") return false;
  for (const prefix of [ORDER, DELETE_FROM])
    if (key.startsWith(prefix))
      return !isMeant(view, key.slice(prefix.length), { order: value, patch, isOrder: prefix === ORDER });
  return key.startsWith("$");
}

const strategies = ({ schema }: TypeView): string[] => String(schema["x-kubernetes-patch-strategy"] ?? "").split(",");

/** Entry of a merging list that orders or deletes, with keys where there are keys. */
function isMeant(
  view: TypeView,
  field: string,
  { order, patch, isOrder }: { order: Json; patch: Json; isOrder: boolean },
): boolean {
  const type = view.map?.field(field);
  const key = type?.schema["x-kubernetes-patch-merge-key"] as string | undefined;
  if (!type || !strategies(type).includes("merge") || !Array.isArray(order) || order.length === 0) return false;
  const items = [...order, ...(Array.isArray(patch[field]) ? (patch[field] as Json[]) : [])];
  if (key === undefined) return items.every((item: Json) => typeof item === "string");
  return isOrder && items.every((item: Json) => isMap(item) && (item[key] !== undefined || item.$patch === "replace"));
}

function isMisusedInItem(list: TypeView, item: Json): boolean {
  if (!isMap(item) || !("$patch" in item)) return false;
  const key = list.schema["x-kubernetes-patch-merge-key"] as string | undefined;
  return (
    !strategies(list).includes("merge") || key === undefined || (item.$patch === "delete" && item[key] === undefined)
  );
}

/** Fields to which a patch gives a value and from which it deletes the same. */
export function contradictions(patch: Json): string[] {
  if (typeof patch !== "object" || patch === null) return [];
  return Object.entries(patch as Record<string, Json>).flatMap(([key, value]) => {
    const field = key.startsWith(DELETE_FROM) ? key.slice(DELETE_FROM.length) : undefined;
    const given: Json = field && patch[field];
    const isBoth = Array.isArray(given) && Array.isArray(value) && given.some((item: Json) => value.includes(item));
    return [...(field && isBoth ? [field] : []), ...contradictions(value)];
  });
}

/** Whether an item of a list that merges by a key has a map or a list for it. */
export function hasStructuredKey(view: TypeView, patch: Json): boolean {
  if (isMap(patch))
    return Object.entries(patch).some(
      ([key, value]) =>
        !key.startsWith("$") && view.map !== undefined && hasStructuredKey(entryView(view.map, key), value),
    );
  if (!Array.isArray(patch) || !view.list) return false;
  const { list } = view;
  const key = view.schema["x-kubernetes-patch-merge-key"] as string | undefined;
  return patch.some(
    (item: Json) =>
      (key !== undefined && isMap(item) && typeof item[key] === "object" && item[key] !== null) ||
      hasStructuredKey(list.element(), item),
  );
}
