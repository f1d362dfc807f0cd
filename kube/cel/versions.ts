// The oldest Kubernetes that understands an expression, by what it names. Types are not known here, so comparing an int with a double (1.28) is not seen.
import type { ASTNode } from "@marcbachmann/cel-js";
import { introducedIn, oldestMinor } from "./functions/introduced.ts";
import { isNamespace } from "./functions/registry.ts";
import { operandsOf } from "./names.ts";
import { compileExpression } from "./program.ts";

/** A function, macro or piece of syntax, and the Kubernetes minor that introduced it. */
export interface Feature {
  name: string;
  minor: string;
}

/**
 * Lowest Kubernetes minor whose environment for stored expressions accepts this one, e.g. `1.30`.
 * A new expression may use only what the minor before the server's had: it needs one minor more.
 * Throws CelSyntaxError.
 */
export function kubernetesVersionOf(expression: string): string {
  return newestFeature(compileExpression(expression).ast)?.minor ?? oldestMinor;
}

/** The feature that decides how old a Kubernetes may be; undefined when each understands the expression. */
export function newestFeature(node: ASTNode): Feature | undefined {
  return [featureOf(node), ...operandsOf(node).map(newestFeature)].reduce(
    (newest, one) => (one && (!newest || minorNumber(one.minor) > minorNumber(newest.minor)) ? one : newest),
    undefined,
  );
}

function minorNumber(minor: string): number {
  return Number(minor.split(".")[1]);
}

function featureOf(node: ASTNode): Feature | undefined {
  if (node.op === ".?" || node.op === "[?]") return { name: node.op, minor: "1.28" };
  if (node.op === "call") return known(node.args[0]);
  if (node.op !== "rcall") return undefined;
  const [name, receiver, args] = node.args;
  const full = receiver.op === "id" && isNamespace(receiver.args) ? `${receiver.args}.${name}` : name;
  return twoVariables(full, args.length) ?? known(full) ?? known(name);
}

function known(name: string): Feature | undefined {
  const minor = introducedIn.get(name);
  return minor === undefined || minor === oldestMinor ? undefined : { name, minor };
}

const quantifiers = new Set(["all", "exists", "exists_one", "existsOne"]);

/** With one variable these are as old as CEL. */
function twoVariables(name: string, args: number): Feature | undefined {
  return args === 3 && quantifiers.has(name) ? { name: `${name} with two variables`, minor: "1.32" } : undefined;
}
