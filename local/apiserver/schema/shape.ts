// A schema as CEL sees it: which type a field has in an expression.
import type { ValueShape } from "../../../kube/cel/values.ts";
import type { SchemaNode } from "./structural.ts";

const shapes = new WeakMap<SchemaNode, ValueShape>();

/** The shape of a node's values; made once. An embedded object also has apiVersion, kind and metadata's names. */
export function shapeOf(node: SchemaNode): ValueShape {
  const known = shapes.get(node);
  if (known) return known;
  const shape: ValueShape = { type: node.intOrString ? undefined : node.type, format: node.format };
  shapes.set(node, shape);
  if (node.items) shape.items = shapeOf(node.items);
  if (node.listType === "set") shape.listType = "set";
  if (node.listType === "map") shape.listType = { keys: node.listMapKeys };
  if (node.additionalProperties && node.additionalProperties !== true) shape.items = shapeOf(node.additionalProperties);
  else if (!node.preserveUnknown || node.properties.size > 0) addProperties(shape, node, node.embedded);
  return shape;
}

/** As `shapeOf`, for the root of a resource. */
export function rootShape(node: SchemaNode): ValueShape {
  const shape = { ...shapeOf(node) };
  addProperties(shape, node, true);
  return shape;
}

const text: ValueShape = { type: "string" };
const metaFields: Record<string, ValueShape> = { name: text, generateName: text };
const metaShape: ValueShape = { type: "object", escaped: true, property: (name) => metaFields[name] };
const typeMeta: Record<string, ValueShape> = { apiVersion: text, kind: text, metadata: metaShape };

function addProperties(shape: ValueShape, node: SchemaNode, embedded: boolean): void {
  if (node.type !== "object" && node.properties.size === 0) return;
  shape.escaped = true;
  shape.property = (name) => {
    if (embedded && Object.hasOwn(typeMeta, name)) return typeMeta[name];
    const property = node.properties.get(name);
    return property && shapeOf(property);
  };
}
