// Reads from the published Go types of Kubernetes what OpenAPI does not say: which fields JSON leaves out when they are zero, and which it prints all the same.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Shape of a struct: fields dropped when zero or empty, and fields always printed. Pointers are neither. */
export interface GoShape {
  drop: string[];
  keep: string[];
}

interface GoField {
  /** Empty for an embedded struct whose fields are the outer one's. */
  json: string;
  type: string;
  flags: string[];
}

const STRUCT = /^type (\w+) struct \{\n([\s\S]*?)^\}/gm;
const FIELD = /^\s*(?:\w+\s+)?([*[\]\w.]+)\s+`[^`]*json:"([^"]*)"[^`]*`/;

function fieldsOf(body: string): GoField[] {
  return body.split("\n").flatMap((line): GoField[] => {
    const match = FIELD.exec(line);
    if (!match) return [];
    const [json = "", ...flags] = (match[2] ?? "").split(",");
    return json === "-" ? [] : [{ json, type: match[1] ?? "", flags }];
  });
}

/** Shapes by the name that OpenAPI gives the struct. @param roots folders of Go packages, with what their names begin with there. */
export function goShapes(roots: { dir: string; prefix: string }[]): Record<string, GoShape> {
  const structs = new Map<string, { fields: GoField[]; prefix: string }>();
  for (const { dir, prefix } of roots) {
    for (const file of globSync("*.go", { cwd: dir }).filter((name) => !/_test\.go$|generated/.test(name))) {
      for (const [, name = "", body = ""] of readFileSync(join(dir, file), "utf8").matchAll(STRUCT))
        structs.set(`${prefix}.${name}`, { fields: fieldsOf(body), prefix });
    }
  }
  const shapeOf = (name: string): GoShape => {
    const { fields, prefix } = structs.get(name) ?? { fields: [], prefix: "" };
    const shape: GoShape = { drop: [], keep: [] };
    for (const { json, type, flags } of fields) {
      if (json === "" && flags.includes("inline")) {
        const inner = shapeOf(`${prefix}.${type.replace(/^.*\./, "")}`);
        shape.drop.push(...inner.drop);
        shape.keep.push(...inner.keep);
      } else if (json !== "" && !type.startsWith("*"))
        shape[flags.includes("omitempty") || flags.includes("omitzero") ? "drop" : "keep"].push(json);
    }
    return shape;
  };
  return Object.fromEntries([...structs.keys()].map((name) => [name, shapeOf(name)]));
}
