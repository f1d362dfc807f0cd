// A fault that a static check finds, and where kube-apiserver shows it.
import type { ASTNode } from "@marcbachmann/cel-js";

export class CheckFault extends Error {
  readonly position: number;
  constructor(message: string, position: number) {
    super(message);
    this.position = position;
  }
}

/** The fault as kube-apiserver writes it: the place, the line, and a mark under it. */
export function located(text: string, position: number, message: string): string {
  const before = text.slice(0, position).split("\n");
  const column = before.at(-1)?.length ?? 0;
  return `ERROR: <input>:${before.length}:${column + 1}: ${message}\n | ${text.split("\n")[before.length - 1]}\n | ${".".repeat(column)}^`;
}

/** Where the dot before a selected field stands. */
export function dotOf(node: ASTNode): number {
  const [target] = node.args as [ASTNode, string];
  return node.input.indexOf(".", target.end);
}

/** The character that stands for a node: its operator, the dot of a selection, the parenthesis of a call; else its first. */
export function placeOf(node: ASTNode): number {
  if (node.op === ".") return dotOf(node);
  if (node.op === "call") return node.input.indexOf("(", node.start);
  if (node.op === "rcall") return node.input.indexOf("(", node.args[1].end);
  const [first, second] = Array.isArray(node.args) ? (node.args as unknown[]) : [];
  if (node.op === "list" || node.op === "map" || !isNode(first) || second === undefined) return node.start;
  return node.input.indexOf(node.op === "?:" ? "?" : node.op.charAt(0), first.end);
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === "object" && value !== null && "op" in value;
}
