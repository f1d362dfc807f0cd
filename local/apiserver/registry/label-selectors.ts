// Label selectors as Kubernetes reads them, token by token, with its complaints.
import { labelValue, qualifiedName } from "./names.ts";
import { badRequest } from "../status.ts";

export type Labels = Record<string, string>;
type LabelRule = (labels: Labels) => boolean;

interface Token {
  /** "id", "end", or what stands there. */
  kind: string;
  text: string;
}

const SYMBOLS = new Set([")", ",", "!", "==", "=", ">", "<", "!=", "("]);
const BINARY = ["in", "notin", "=", "==", "!=", "gt", "lt"];

function tokensOf(selector: string): Token[] {
  const tokens = [...selector.matchAll(/[=!(),<>]+|[^=!(),<>\s]+/g)].flatMap(([part]) =>
    /^[=!(),<>]/.test(part) ? symbolsOf(part) : [{ kind: part === "in" || part === "notin" ? part : "id", text: part }],
  );
  return [...tokens, { kind: "end", text: "" }];
}

/** A run of signs, cut into the longest symbols that there are. */
function symbolsOf(run: string): Token[] {
  const found: Token[] = [];
  for (let at = 0; at < run.length;) {
    const pair = run.slice(at, at + 2);
    const text = pair.length === 2 && SYMBOLS.has(pair) ? pair : (run[at] ?? "");
    found.push({ kind: text, text });
    at += text.length;
  }
  return found;
}

/** Tokens with a place in them. In values `in` and `notin` are words like any other. */
class Tokens {
  private at = 0;
  private readonly tokens: Token[];
  constructor(selector: string) {
    this.tokens = tokensOf(selector);
  }
  peek(asValue = true): Token {
    const token = this.tokens[this.at] ?? { kind: "end", text: "" };
    return asValue && (token.kind === "in" || token.kind === "notin") ? { ...token, kind: "id" } : token;
  }
  take(asValue = true): Token {
    const token = this.peek(asValue);
    this.at += 1;
    return token;
  }
}

class SelectorFault extends Error {}
const fault = (message: string) => new SelectorFault(message);

/** The rules of a selector, all of which must hold; throws 400. */
export function parseLabelRules(selector: string): LabelRule[] {
  try {
    return parse(new Tokens(selector));
  } catch (error) {
    if (error instanceof SelectorFault) throw badRequest(error.message);
    throw error;
  }
}

function parse(tokens: Tokens): LabelRule[] {
  const rules: LabelRule[] = [];
  for (;;) {
    const { kind, text } = tokens.peek();
    if (kind === "end") return rules;
    if (kind !== "id" && kind !== "!") throw fault(`found '${text}', expected: !, identifier, or 'end of string'`);
    rules.push(requirement(tokens));
    const next = tokens.take();
    if (next.kind === "end") return rules;
    if (next.kind !== ",") throw fault(`found '${next.text}', expected: ',' or 'end of string'`);
    const after = tokens.peek();
    if (after.kind !== "id" && after.kind !== "!") throw fault(`found '${after.text}', expected: identifier after ','`);
  }
}

const broken = (message: string) => fault(`unable to parse requirement: ${message}`);

function requirement(tokens: Tokens): LabelRule {
  const first = tokens.take();
  const isNegated = first.kind === "!";
  const key = isNegated ? tokens.take() : first;
  if (key.kind !== "id") throw broken(`found '${key.text}', expected: identifier`);
  const wrong = qualifiedName(key.text);
  if (wrong.length > 0) throw broken(`<nil>: Invalid value: ${JSON.stringify(key.text)}: ${wrong.join("; ")}`);
  if (isNegated) return (labels) => !Object.hasOwn(labels, key.text);
  const { kind } = tokens.peek();
  if (kind === "end" || kind === ",") return (labels) => Object.hasOwn(labels, key.text);
  return comparison(key.text, tokens);
}

function comparison(key: string, tokens: Tokens): LabelRule {
  const operator = tokens.take(false);
  if (!["in", "notin", "=", "==", "!=", ">", "<"].includes(operator.kind))
    throw broken(`found '${operator.text}', expected: ${BINARY.join(", ")}`);
  const isSet = operator.kind === "in" || operator.kind === "notin";
  const values = isSet ? setOf(tokens) : [exactValue(tokens)];
  const isNumeric = operator.kind === ">" || operator.kind === "<";
  checkValues(key, values, isNumeric);
  const has = (labels: Labels) => Object.hasOwn(labels, key);
  if (isNumeric)
    return (labels) =>
      has(labels) &&
      isInteger(labels[key] ?? "") &&
      (operator.kind === ">"
        ? BigInt(labels[key] ?? 0) > BigInt(values[0] ?? 0)
        : BigInt(labels[key] ?? 0) < BigInt(values[0] ?? 0));
  if (operator.kind === "notin" || operator.kind === "!=")
    return (labels) => !has(labels) || !values.includes(labels[key] ?? "");
  return (labels) => has(labels) && values.includes(labels[key] ?? "");
}

const isInteger = (text: string) => /^[+-]?\d+$/.test(text);

function checkValues(key: string, values: string[], isNumeric: boolean): void {
  const faults = [
    ...(isNumeric && !isInteger(values[0] ?? "")
      ? [
          `values[0]: Invalid value: ${JSON.stringify(values[0])}: for 'Gt', 'Lt' operators, the value must be an integer`,
        ]
      : []),
    ...values.flatMap((value, i) => {
      const wrong = labelValue(value);
      return wrong.length > 0
        ? [`values[${i}][${key}]: Invalid value: ${JSON.stringify(value)}: ${wrong.join("; ")}`]
        : [];
    }),
  ];
  if (faults.length > 0) throw broken(faults.length === 1 ? (faults[0] ?? "") : `[${faults.join(", ")}]`);
}

function exactValue(tokens: Tokens): string {
  const next = tokens.peek();
  if (next.kind === "end" || next.kind === ",") return "";
  const { kind, text } = tokens.take();
  if (kind !== "id") throw broken(`found '${text}', expected: identifier`);
  return text;
}

/** `(a,b)`; sorted, each value once. */
function setOf(tokens: Tokens): string[] {
  const open = tokens.take();
  if (open.kind !== "(") throw broken(`found '${open.text}' expected: '('`);
  const first = tokens.peek();
  if (first.kind === ")") {
    tokens.take();
    return [""];
  }
  if (first.kind !== "id" && first.kind !== ",")
    throw broken(`found '${first.text}', expected: ',', ')' or identifier`);
  const values = new Set<string>();
  while (tokens.peek().kind !== ")") addValue(tokens, values);
  tokens.take();
  return [...values].sort();
}

function addValue(tokens: Tokens, values: Set<string>): void {
  const { kind, text } = tokens.take();
  const next = tokens.peek();
  if (kind === "id") {
    values.add(text);
    if (next.kind !== "," && next.kind !== ")") throw broken(`found '${next.text}', expected: ',' or ')'`);
  } else if (kind === ",") {
    if (values.size === 0 || next.kind === ")" || next.kind === ",") values.add("");
  } else throw broken(`found '${text}', expected: ',', or identifier`);
}
