// Which names an expression mentions, without evaluating it.
import type { ASTNode } from "@marcbachmann/cel-js";

/** Operands of a node, whatever its kind. */
export function operandsOf(node: ASTNode): ASTNode[] {
  return nested(node.op === "value" ? [] : node.args);
}

function nested(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(nested);
  return typeof args === "object" && args !== null && "op" in args ? [args as ASTNode] : [];
}

/** All identifiers of an expression, loop variables included. */
export function namesIn(node: ASTNode): Set<string> {
  const names = new Set<string>();
  const visit = (one: ASTNode): void => {
    if (one.op === "id") names.add(one.args);
    for (const operand of operandsOf(one)) visit(operand);
  };
  visit(node);
  return names;
}
